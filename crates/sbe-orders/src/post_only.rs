#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PostOnly {
    NO = 0x0_u8,
    REJECT = 0x1_u8,
    REPRICE = 0x2_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for PostOnly {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::NO,
            0x1_u8 => Self::REJECT,
            0x2_u8 => Self::REPRICE,
            _ => Self::NullVal,
        }
    }
}
impl From<PostOnly> for u8 {
    #[inline]
    fn from(v: PostOnly) -> Self {
        match v {
            PostOnly::NO => 0x0_u8,
            PostOnly::REJECT => 0x1_u8,
            PostOnly::REPRICE => 0x2_u8,
            PostOnly::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for PostOnly {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "NO" => Ok(Self::NO),
            "REJECT" => Ok(Self::REJECT),
            "REPRICE" => Ok(Self::REPRICE),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for PostOnly {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NO => write!(f, "NO"),
            Self::REJECT => write!(f, "REJECT"),
            Self::REPRICE => write!(f, "REPRICE"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
