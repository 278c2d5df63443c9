use ai_provider::FileData;

/// A file as a `data:` URL; of a file that is not at hand (a URL, an upload), an empty one.
pub fn data_url(media_type: &str, data: &FileData) -> String {
    format!("data:{media_type};base64,{}", data.to_base64().unwrap_or_default())
}

/// The media type of an image by its first bytes.
pub fn sniff_image(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
