#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DoneStatus {
    CANCELLED = 0x0_u8,
    FILLED = 0x1_u8,
    EXPIRED = 0x2_u8,
    SELF_TRADE_PREVENTED = 0x3_u8,
    CLOSED = 0x4_u8,
    NO_ROOM = 0x5_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for DoneStatus {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::CANCELLED,
            0x1_u8 => Self::FILLED,
            0x2_u8 => Self::EXPIRED,
            0x3_u8 => Self::SELF_TRADE_PREVENTED,
            0x4_u8 => Self::CLOSED,
            0x5_u8 => Self::NO_ROOM,
            _ => Self::NullVal,
        }
    }
}
impl From<DoneStatus> for u8 {
    #[inline]
    fn from(v: DoneStatus) -> Self {
        match v {
            DoneStatus::CANCELLED => 0x0_u8,
            DoneStatus::FILLED => 0x1_u8,
            DoneStatus::EXPIRED => 0x2_u8,
            DoneStatus::SELF_TRADE_PREVENTED => 0x3_u8,
            DoneStatus::CLOSED => 0x4_u8,
            DoneStatus::NO_ROOM => 0x5_u8,
            DoneStatus::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for DoneStatus {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "CANCELLED" => Ok(Self::CANCELLED),
            "FILLED" => Ok(Self::FILLED),
            "EXPIRED" => Ok(Self::EXPIRED),
            "SELF_TRADE_PREVENTED" => Ok(Self::SELF_TRADE_PREVENTED),
            "CLOSED" => Ok(Self::CLOSED),
            "NO_ROOM" => Ok(Self::NO_ROOM),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for DoneStatus {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::CANCELLED => write!(f, "CANCELLED"),
            Self::FILLED => write!(f, "FILLED"),
            Self::EXPIRED => write!(f, "EXPIRED"),
            Self::SELF_TRADE_PREVENTED => write!(f, "SELF_TRADE_PREVENTED"),
            Self::CLOSED => write!(f, "CLOSED"),
            Self::NO_ROOM => write!(f, "NO_ROOM"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
