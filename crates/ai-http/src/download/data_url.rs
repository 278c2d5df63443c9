use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

use super::Downloaded;

/// Padding is left out at will in the wild.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The file a `data:` URL is; nothing if it is another URL, and what is wrong with it if it is none.
pub(super) fn read(url: &str) -> Option<Result<Downloaded, &'static str>> {
    let scheme = url.get(..5)?;
    scheme.eq_ignore_ascii_case("data:").then(|| decode(url.get(5..).unwrap_or_default()))
}

fn decode(rest: &str) -> Result<Downloaded, &'static str> {
    let (head, content) = rest.split_once(',').ok_or("its data: URL has no comma")?;
    let bytes: Vec<u8> = percent_decode_str(content).collect();
    let (media_type, data) = match head.rsplit_once(';') {
        Some((media_type, word)) if word.trim().eq_ignore_ascii_case("base64") => {
            (media_type, BASE64.decode(bytes.trim_ascii()).map_err(|_| "its data: URL is no base64")?)
        }
        _ => (head, bytes),
    };
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let media_type = (!media_type.is_empty()).then(|| media_type.to_ascii_lowercase());
    Ok(Downloaded { media_type, data: data.into() })
}
