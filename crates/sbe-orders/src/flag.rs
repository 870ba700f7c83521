#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Flag {
    OFF = 0x0_u8,
    ON = 0x1_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for Flag {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::OFF,
            0x1_u8 => Self::ON,
            _ => Self::NullVal,
        }
    }
}
impl From<Flag> for u8 {
    #[inline]
    fn from(v: Flag) -> Self {
        match v {
            Flag::OFF => 0x0_u8,
            Flag::ON => 0x1_u8,
            Flag::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for Flag {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "OFF" => Ok(Self::OFF),
            "ON" => Ok(Self::ON),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for Flag {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OFF => write!(f, "OFF"),
            Self::ON => write!(f, "ON"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
