//! Uses of made-up loads whose answer is computed by hand.
