#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum InstrumentState {
    OPEN = 0x0_u8,
    HALTED = 0x1_u8,
    CLOSED = 0x2_u8,
    #[default]
    NullVal = 0xff_u8,
}
impl From<u8> for InstrumentState {
    #[inline]
    fn from(v: u8) -> Self {
        match v {
            0x0_u8 => Self::OPEN,
            0x1_u8 => Self::HALTED,
            0x2_u8 => Self::CLOSED,
            _ => Self::NullVal,
        }
    }
}
impl From<InstrumentState> for u8 {
    #[inline]
    fn from(v: InstrumentState) -> Self {
        match v {
            InstrumentState::OPEN => 0x0_u8,
            InstrumentState::HALTED => 0x1_u8,
            InstrumentState::CLOSED => 0x2_u8,
            InstrumentState::NullVal => 0xff_u8,
        }
    }
}
impl core::str::FromStr for InstrumentState {
    type Err = ();

    #[inline]
    fn from_str(v: &str) -> core::result::Result<Self, Self::Err> {
        match v {
            "OPEN" => Ok(Self::OPEN),
            "HALTED" => Ok(Self::HALTED),
            "CLOSED" => Ok(Self::CLOSED),
            _ => Ok(Self::NullVal),
        }
    }
}
impl core::fmt::Display for InstrumentState {
    #[inline]
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OPEN => write!(f, "OPEN"),
            Self::HALTED => write!(f, "HALTED"),
            Self::CLOSED => write!(f, "CLOSED"),
            Self::NullVal => write!(f, "NullVal"),
        }
    }
}
