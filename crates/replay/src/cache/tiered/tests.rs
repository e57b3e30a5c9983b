//! What a run counts, from one end to the other.
