//! Messages of a client, encoded from the text of the protocol and independently of the codec.

/// An option of the handshake.
pub fn option_bytes(option: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap();
    [b"IHAVEOPT", &option.to_be_bytes()[..], &length.to_be_bytes(), data].concat()
}

/// A string that is preceded by its length.
pub fn string(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
}

/// The header of a request.
pub fn request(kind: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let magic = 0x2560_9513u32.to_be_bytes();
    let mut bytes = [&magic[..], &flags.to_be_bytes(), &kind.to_be_bytes()].concat();
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}
