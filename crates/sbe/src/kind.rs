#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    LIVE = 0x0_u8,
    REPLAY = 0x1_u8,
    SNAPSHOT = 0x2_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for Kind {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::LIVE,
            0x1_u8 => Self::REPLAY,
            0x2_u8 => Self::SNAPSHOT,
            _ => Self::NullVal,
        }
    }
}
impl From<Kind> for u8 {
    #[inline]
    fn from(v: Kind) -> Self {
        match v {
            Kind::LIVE => 0x0_u8,
            Kind::REPLAY => 0x1_u8,
            Kind::SNAPSHOT => 0x2_u8,
            Kind::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for Kind {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "LIVE" => Ok(Self::LIVE),
            "REPLAY" => Ok(Self::REPLAY),
            "SNAPSHOT" => Ok(Self::SNAPSHOT),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Kind {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::LIVE => write!(f, "LIVE"),
            Self::REPLAY => write!(f, "REPLAY"),
            Self::SNAPSHOT => write!(f, "SNAPSHOT"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
