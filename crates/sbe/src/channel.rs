#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Channel {
    ORDERS = 0x0_u8,
    LEVELS = 0x1_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for Channel {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::ORDERS,
            0x1_u8 => Self::LEVELS,
            _ => Self::NullVal,
        }
    }
}
impl From<Channel> for u8 {
    #[inline]
    fn from(v: Channel) -> Self {
        match v {
            Channel::ORDERS => 0x0_u8,
            Channel::LEVELS => 0x1_u8,
            Channel::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for Channel {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "ORDERS" => Ok(Self::ORDERS),
            "LEVELS" => Ok(Self::LEVELS),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Channel {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::ORDERS => write!(f, "ORDERS"),
            Self::LEVELS => write!(f, "LEVELS"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
