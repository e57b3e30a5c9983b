//! The random numbers of the benchmark: a linear congruential generator of 128 bits that can be
//! advanced by any number of steps at once.
//!
//! X' = A X + C mod 2^128, from X = 0. A is from L'Ecuyer, Mathematics of Computation 68 (1999),
//! pp. 249-260; C is odd, so that the period is 2^128.

const A: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const C: u128 = 0x4A69_6D47_7261_7952_4950_2020_2020_2001;

/// The number after `number`.
#[inline]
pub fn next(number: u128) -> u128 {
    number.wrapping_mul(A).wrapping_add(C)
}

/// The number after `steps` steps from 0.
pub fn after(mut steps: u128) -> u128 {
    let (mut a, mut c) = (A, C);
    let mut number: u128 = 0;
    while steps != 0 {
        if steps & 1 == 1 {
            number = number.wrapping_mul(a).wrapping_add(c);
        }
        // Doubles the number of steps: a (a x + c) + c.
        c = c.wrapping_mul(a.wrapping_add(1));
        a = a.wrapping_mul(a);
        steps >>= 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_number_is_the_increment() {
        assert_eq!(after(0), 0);
        assert_eq!(after(1), C);
        assert_eq!(after(2), next(C));
    }

    #[test]
    fn the_period_is_2_to_the_128() {
        assert_eq!(next(after(u128::MAX)), 0);
    }

    proptest! {
        #[test]
        fn a_jump_equals_single_steps(from in any::<u128>(), steps in 0u32..2000) {
            let walked = (0..steps).fold(after(from), |number, _| next(number));
            prop_assert_eq!(walked, after(from.wrapping_add(steps.into())));
        }
    }
}
