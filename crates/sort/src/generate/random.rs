//! The benchmark's random numbers: a linear congruential generator of 128 bits, any of which can be
//! had without those before it.
//!
//! X' = A X + C mod 2^128, from X = 0. A is of L'Ecuyer, Mathematics of Computation 68 (1999), pp.
//! 249-260; C is odd, so that all 2^128 numbers come before one comes again.

const A: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const C: u128 = 0x4A69_6D47_7261_7952_4950_2020_2020_2001;

/// The number after `number`.
#[inline]
pub fn next(number: u128) -> u128 {
    number.wrapping_mul(A).wrapping_add(C)
}

/// The number so many steps from 0.
pub fn after(mut steps: u128) -> u128 {
    let (mut a, mut c) = (A, C);
    let mut number: u128 = 0;
    while steps != 0 {
        if steps & 1 == 1 {
            number = number.wrapping_mul(a).wrapping_add(c);
        }
        // Twice the steps at once: a (a x + c) + c.
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
    fn after_all_of_them_it_is_the_first_again() {
        assert_eq!(next(after(u128::MAX)), 0);
    }

    proptest! {
        #[test]
        fn a_leap_is_as_many_steps(from in any::<u128>(), steps in 0u32..2000) {
            let walked = (0..steps).fold(after(from), |number, _| next(number));
            prop_assert_eq!(walked, after(from.wrapping_add(steps.into())));
        }
    }
}
