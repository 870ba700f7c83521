//! Prices and amounts: exact sums, and fields of a message.

use fix::encode::Body;
use wire::decimal::Decimal;

/// Digits after the point of an average price, beyond those of the prices.
const AVERAGE_SCALE: u32 = 8;

/// `a + b`; `None` if it has too many digits.
pub(super) fn plus(a: Decimal, b: Decimal) -> Option<Decimal> {
    let scale = a.scale().max(b.scale());
    let sum = widened(a, scale) + widened(b, scale);
    Decimal::new(i64::try_from(sum).ok()?, scale)
}

/// `a - b`; `None` if it has too many digits.
pub(super) fn minus(a: Decimal, b: Decimal) -> Option<Decimal> {
    plus(a, Decimal::new(-b.mantissa(), b.scale())?)
}

fn widened(number: Decimal, scale: u8) -> i128 {
    i128::from(number.mantissa()) * 10i128.pow(u32::from(scale - number.scale()))
}

/// Appends the field `tag`, if there is a number.
pub(super) fn put_decimal(body: &mut Body<'_>, tag: u32, number: Option<Decimal>) {
    if let Some(number) = number {
        body.written(tag, |out| number.write_to(out));
    }
}

/// An amount and what was paid for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TradedAmount {
    pub amount: Decimal,
    /// The mean price of `amount`, rounded down.
    pub average: Decimal,
}

impl TradedAmount {
    /// With another trade. `None` if a number has too many digits.
    pub(super) fn with(self, price: Decimal, amount: Decimal) -> Option<TradedAmount> {
        let all = plus(self.amount, amount)?;
        if self.amount == Decimal::ZERO || self.average == price {
            return Some(TradedAmount { amount: all, average: price });
        }
        let scale = self.average.scale().max(price.scale());
        let amount_scale = self.amount.scale().max(amount.scale());
        let value =
            |price, amount| widened(price, scale).checked_mul(widened(amount, amount_scale));
        let sum = value(self.average, self.amount)?.checked_add(value(price, amount)?)?;
        // More digits as long as the numbers are not too long.
        for more in (0..=AVERAGE_SCALE.saturating_sub(u32::from(scale))).rev() {
            let Some(shifted) = sum.checked_mul(10i128.pow(more)) else { continue };
            let average = shifted / widened(all, amount_scale).max(1);
            let average = i64::try_from(average).ok();
            if let Some(average) = average.and_then(|n| Decimal::new(n, scale + more as u8)) {
                return Some(TradedAmount { amount: all, average });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("a decimal")
    }

    #[test]
    fn sums_are_exact_and_averages_are_weighted() {
        assert_eq!(plus(decimal("0.1"), decimal("0.25")), Some(decimal("0.35")));
        assert_eq!(minus(decimal("1"), decimal("0.001")), Some(decimal("0.999")));
        assert_eq!(plus(decimal("999999999999999999"), decimal("1")), None);
        let traded = TradedAmount::default().with(decimal("100"), decimal("1"));
        let traded = traded.and_then(|traded| traded.with(decimal("103"), decimal("2")));
        assert_eq!(traded, Some(TradedAmount { amount: decimal("3"), average: decimal("102") }));
        let traded = traded.and_then(|traded| traded.with(decimal("103"), decimal("0.5")));
        let average = decimal("102.14285714");
        assert_eq!(traded, Some(TradedAmount { amount: decimal("3.5"), average }));
    }
}
