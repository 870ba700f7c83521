use crate::*;

pub use decoder::ReplaceOrderDecoder;
pub use encoder::ReplaceOrderEncoder;

pub use crate::SBE_SCHEMA_ID;
pub use crate::SBE_SCHEMA_VERSION;
pub use crate::SBE_SEMANTIC_VERSION;

pub const SBE_BLOCK_LENGTH: u16 = 170;
pub const SBE_TEMPLATE_ID: u16 = 12;

pub mod encoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Debug, Default)]
    pub struct ReplaceOrderEncoder<'a> {
        buf: WriteBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
    }

    impl<'a> Writer<'a> for ReplaceOrderEncoder<'a> {
        #[inline]
        fn get_buf_mut(&mut self) -> &mut WriteBuf<'a> {
            &mut self.buf
        }
    }

    impl<'a> Encoder<'a> for ReplaceOrderEncoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }

        /// Set all optional fields to their 'null' values.
        #[inline]
        fn nullify_optional_fields(&mut self) -> &mut Self {
            self.tick_opt(None);
            self.response_ns_opt(None);
            {
                let mut composite_encoder = core::mem::take(self).price_encoder();
                composite_encoder.nullify_optional_fields();
                *self = composite_encoder.parent().expect("parent missing");
            }
            {
                let mut composite_encoder = core::mem::take(self).amount_encoder();
                composite_encoder.nullify_optional_fields();
                *self = composite_encoder.parent().expect("parent missing");
            }
            self
        }
    }

    impl<'a> ReplaceOrderEncoder<'a> {
        pub fn wrap(mut self, buf: WriteBuf<'a>, offset: usize) -> Self {
            let limit = offset + SBE_BLOCK_LENGTH as usize;
            self.buf = buf;
            self.initial_offset = offset;
            self.offset = offset;
            self.limit = limit;
            self
        }

        #[inline]
        pub const fn encoded_length(&self) -> usize {
            self.limit - self.offset
        }

        pub fn header(self, offset: usize) -> MessageHeaderEncoder<Self> {
            let mut header = MessageHeaderEncoder::default().wrap(self, offset);
            header.block_length(SBE_BLOCK_LENGTH);
            header.template_id(SBE_TEMPLATE_ID);
            header.schema_id(SBE_SCHEMA_ID);
            header.version(SBE_SCHEMA_VERSION);
            header
        }

        /// primitive field 'sequence'
        /// - min value: 0
        /// - max value: -2
        /// - null value: 0xffffffffffffffff_u64
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 0
        /// - encodedLength: 8
        /// - version: 0
        #[inline]
        pub fn sequence(&mut self, value: u64) -> &mut Self {
            let offset = self.offset;
            self.get_buf_mut().put_u64_at(offset, value);
            self
        }

        #[inline]
        pub fn client_id_at(&mut self, index: usize, value: u8) -> &mut Self {
            let offset = self.offset + 8;
            let buf = self.get_buf_mut();
            buf.put_u8_at(offset + index, value);
            self
        }

        /// primitive array field 'clientId'
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 8
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn client_id(&mut self, value: &[u8]) -> &mut Self {
            debug_assert_eq!(63, value.len());
            let offset = self.offset + 8;
            let buf = self.get_buf_mut();
            buf.put_slice_at(offset, value);
            self
        }

        /// primitive array field 'clientId' from an Iterator
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 8
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn client_id_from_iter(&mut self, iter: impl Iterator<Item = u8>) -> &mut Self {
            let offset = self.offset + 8;
            let buf = self.get_buf_mut();
            for (i, v) in iter.enumerate() {
                buf.put_u8_at(offset + i, v);
            }
            self
        }

        /// primitive array field 'clientId' with zero padding
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 8
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn client_id_zero_padded(&mut self, value: &[u8]) -> &mut Self {
            let iter = value.iter().copied().chain(std::iter::repeat(0_u8)).take(63);
            self.client_id_from_iter(iter);
            self
        }

        #[inline]
        pub fn new_client_id_at(&mut self, index: usize, value: u8) -> &mut Self {
            let offset = self.offset + 71;
            let buf = self.get_buf_mut();
            buf.put_u8_at(offset + index, value);
            self
        }

        /// primitive array field 'newClientId'
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 71
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn new_client_id(&mut self, value: &[u8]) -> &mut Self {
            debug_assert_eq!(63, value.len());
            let offset = self.offset + 71;
            let buf = self.get_buf_mut();
            buf.put_slice_at(offset, value);
            self
        }

        /// primitive array field 'newClientId' from an Iterator
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 71
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn new_client_id_from_iter(&mut self, iter: impl Iterator<Item = u8>) -> &mut Self {
            let offset = self.offset + 71;
            let buf = self.get_buf_mut();
            for (i, v) in iter.enumerate() {
                buf.put_u8_at(offset + i, v);
            }
            self
        }

        /// primitive array field 'newClientId' with zero padding
        /// - min value: 32
        /// - max value: 126
        /// - null value: 0_u8
        /// - characterEncoding: US-ASCII
        /// - semanticType: null
        /// - encodedOffset: 71
        /// - encodedLength: 63
        /// - version: 0
        #[inline]
        pub fn new_client_id_zero_padded(&mut self, value: &[u8]) -> &mut Self {
            let iter = value.iter().copied().chain(std::iter::repeat(0_u8)).take(63);
            self.new_client_id_from_iter(iter);
            self
        }

        /// primitive field 'instrument'
        /// - min value: 0
        /// - max value: 65534
        /// - null value: 0xffff_u16
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 134
        /// - encodedLength: 2
        /// - version: 0
        #[inline]
        pub fn instrument(&mut self, value: u16) -> &mut Self {
            let offset = self.offset + 134;
            self.get_buf_mut().put_u16_at(offset, value);
            self
        }

        /// COMPOSITE ENCODER
        #[inline]
        pub fn price_encoder(self) -> scaled_codec::ScaledEncoder<Self> {
            let offset = self.offset + 136;
            scaled_codec::ScaledEncoder::default().wrap(self, offset)
        }

        /// COMPOSITE ENCODER
        #[inline]
        pub fn amount_encoder(self) -> scaled_codec::ScaledEncoder<Self> {
            let offset = self.offset + 145;
            scaled_codec::ScaledEncoder::default().wrap(self, offset)
        }

        /// primitive field 'tick'
        /// - min value: 0
        /// - max value: -2
        /// - null value: 0xffffffffffffffff_u64
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 154
        /// - encodedLength: 8
        /// - version: 1
        #[inline]
        pub fn tick(&mut self, value: u64) -> &mut Self {
            let offset = self.offset + 154;
            self.get_buf_mut().put_u64_at(offset, value);
            self
        }

        /// optional primitive field 'tick'
        /// - min value: 0
        /// - max value: -2
        /// - null value: 0xffffffffffffffff_u64
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 154
        /// - encodedLength: 8
        /// - version: 1
        /// Set to `None` to encode the field null value.
        #[inline]
        pub fn tick_opt(&mut self, value: Option<u64>) -> &mut Self {
            match value {
                Some(value) => self.tick(value),
                None => self.tick(0xffffffffffffffff_u64),
            };
            self
        }

        /// primitive field 'responseNs'
        /// - min value: 0
        /// - max value: -2
        /// - null value: 0xffffffffffffffff_u64
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 162
        /// - encodedLength: 8
        /// - version: 1
        #[inline]
        pub fn response_ns(&mut self, value: u64) -> &mut Self {
            let offset = self.offset + 162;
            self.get_buf_mut().put_u64_at(offset, value);
            self
        }

        /// optional primitive field 'responseNs'
        /// - min value: 0
        /// - max value: -2
        /// - null value: 0xffffffffffffffff_u64
        /// - characterEncoding: null
        /// - semanticType: null
        /// - encodedOffset: 162
        /// - encodedLength: 8
        /// - version: 1
        /// Set to `None` to encode the field null value.
        #[inline]
        pub fn response_ns_opt(&mut self, value: Option<u64>) -> &mut Self {
            match value {
                Some(value) => self.response_ns(value),
                None => self.response_ns(0xffffffffffffffff_u64),
            };
            self
        }
    }
} // end encoder

pub mod decoder {
    use super::*;
    use message_header_codec::*;

    #[derive(Clone, Copy, Debug, Default)]
    pub struct ReplaceOrderDecoder<'a> {
        buf: ReadBuf<'a>,
        initial_offset: usize,
        offset: usize,
        limit: usize,
        pub acting_block_length: u16,
        pub acting_version: u16,
    }

    impl ActingVersion for ReplaceOrderDecoder<'_> {
        #[inline]
        fn acting_version(&self) -> u16 {
            self.acting_version
        }
    }

    impl<'a> Reader<'a> for ReplaceOrderDecoder<'a> {
        #[inline]
        fn get_buf(&self) -> &ReadBuf<'a> {
            &self.buf
        }
    }

    impl<'a> Decoder<'a> for ReplaceOrderDecoder<'a> {
        #[inline]
        fn get_limit(&self) -> usize {
            self.limit
        }

        #[inline]
        fn set_limit(&mut self, limit: usize) {
            self.limit = limit;
        }
    }

    impl<'a> ReplaceOrderDecoder<'a> {
        pub fn wrap(
            mut self,
            buf: ReadBuf<'a>,
            offset: usize,
            acting_block_length: u16,
            acting_version: u16,
        ) -> Self {
            let limit = offset + acting_block_length as usize;
            self.buf = buf;
            self.initial_offset = offset;
            self.offset = offset;
            self.limit = limit;
            self.acting_block_length = acting_block_length;
            self.acting_version = acting_version;
            self
        }

        #[inline]
        pub const fn encoded_length(&self) -> usize {
            self.limit - self.offset
        }

        pub fn header(self, mut header: MessageHeaderDecoder<ReadBuf<'a>>, offset: usize) -> Self {
            debug_assert_eq!(SBE_TEMPLATE_ID, header.template_id());
            let acting_block_length = header.block_length();
            let acting_version = header.version();

            self.wrap(
                header.parent().unwrap(),
                offset + message_header_codec::ENCODED_LENGTH,
                acting_block_length,
                acting_version,
            )
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn sequence(&self) -> u64 {
            self.get_buf().get_u64_at(self.offset)
        }

        #[inline]
        pub fn client_id(&self) -> [u8; 63] {
            let buf = self.get_buf();
            ReadBuf::get_bytes_at(buf.data, self.offset + 8)
        }

        #[inline]
        pub fn new_client_id(&self) -> [u8; 63] {
            let buf = self.get_buf();
            ReadBuf::get_bytes_at(buf.data, self.offset + 71)
        }

        /// primitive field - 'REQUIRED'
        #[inline]
        pub fn instrument(&self) -> u16 {
            self.get_buf().get_u16_at(self.offset + 134)
        }

        /// COMPOSITE DECODER
        #[inline]
        pub fn price_decoder(self) -> scaled_codec::ScaledDecoder<Self> {
            let offset = self.offset + 136;
            scaled_codec::ScaledDecoder::default().wrap(self, offset)
        }

        /// COMPOSITE DECODER
        #[inline]
        pub fn amount_decoder(self) -> scaled_codec::ScaledDecoder<Self> {
            let offset = self.offset + 145;
            scaled_codec::ScaledDecoder::default().wrap(self, offset)
        }

        /// primitive field - 'OPTIONAL' { null_value: '0xffffffffffffffff_u64' }
        #[inline]
        pub fn tick(&self) -> Option<u64> {
            if self.acting_version() < 1 {
                return None;
            }

            let value = self.get_buf().get_u64_at(self.offset + 154);
            if value == 0xffffffffffffffff_u64 { None } else { Some(value) }
        }

        /// primitive field - 'OPTIONAL' { null_value: '0xffffffffffffffff_u64' }
        #[inline]
        pub fn response_ns(&self) -> Option<u64> {
            if self.acting_version() < 1 {
                return None;
            }

            let value = self.get_buf().get_u64_at(self.offset + 162);
            if value == 0xffffffffffffffff_u64 { None } else { Some(value) }
        }
    }
} // end decoder
