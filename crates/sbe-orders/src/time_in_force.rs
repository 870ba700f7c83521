#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TimeInForce {
    GOOD_TILL_CANCELLED = 0x0_u8,
    IMMEDIATE_OR_CANCELLED = 0x1_u8,
    FILL_OR_KILL = 0x2_u8,
    GOOD_TILL_DATE = 0x3_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for TimeInForce {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::GOOD_TILL_CANCELLED,
            0x1_u8 => Self::IMMEDIATE_OR_CANCELLED,
            0x2_u8 => Self::FILL_OR_KILL,
            0x3_u8 => Self::GOOD_TILL_DATE,
            _ => Self::NullVal,
        }
    }
}
impl From<TimeInForce> for u8 {
    #[inline]
    fn from(v: TimeInForce) -> Self {
        match v {
            TimeInForce::GOOD_TILL_CANCELLED => 0x0_u8,
            TimeInForce::IMMEDIATE_OR_CANCELLED => 0x1_u8,
            TimeInForce::FILL_OR_KILL => 0x2_u8,
            TimeInForce::GOOD_TILL_DATE => 0x3_u8,
            TimeInForce::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for TimeInForce {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "GOOD_TILL_CANCELLED" => Ok(Self::GOOD_TILL_CANCELLED),
            "IMMEDIATE_OR_CANCELLED" => Ok(Self::IMMEDIATE_OR_CANCELLED),
            "FILL_OR_KILL" => Ok(Self::FILL_OR_KILL),
            "GOOD_TILL_DATE" => Ok(Self::GOOD_TILL_DATE),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for TimeInForce {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::GOOD_TILL_CANCELLED => write!(f, "GOOD_TILL_CANCELLED"),
            Self::IMMEDIATE_OR_CANCELLED => write!(f, "IMMEDIATE_OR_CANCELLED"),
            Self::FILL_OR_KILL => write!(f, "FILL_OR_KILL"),
            Self::GOOD_TILL_DATE => write!(f, "GOOD_TILL_DATE"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
