use proptest::prelude::*;

use super::*;

fn masked(text: &str, secrets: &[&str]) -> String {
    let secrets: Vec<_> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    Masker::new(&secrets).mask(text).into_owned()
}

/// [HT-54]
#[test]
fn a_cut_secret_is_masked() {
    let key = "sk-CANARY-1234567890";
    let cases = [
        ("no such key: sk-CANARY-1234…", "no such key: ***…"),
        ("no such key: sk-CANAR", "no such key: ***"),
        ("…ARY-1234567890 is wrong", "…*** is wrong"),
        ("sk-CANARY...234567890", "***...***"),
        ("keys begin with sk-CANA", "keys begin with sk-CANA"),
        ("sk-CANARY-1234567890sk-CANARY-1234567890", "******"),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text, &[key]), expected);
    }
}

/// [HT-55]
#[test]
fn an_escaped_secret_is_masked() {
    let key = "sk/AB+cd=1\"2<3&4";
    let cases = [
        r#"sk\/AB+cd=1\"2<3&4"#,
        r#"sk\\\/AB+cd=1\\\"2<3&4"#,
        r"\u0073\u006B\u002f\u0041B+cd=1\u00222<3&4",
        r"\\u0073\\u006B\\u002f\\u0041B+cd=1\\u00222<3&4",
        "sk%2FAB%2bcd%3D1%222%3C3%264",
        "sk%252FAB%252bcd%253D1%25222%253C3%25264",
        "sk/AB+cd=1&quot;2&lt;3&amp;4",
        "sk&#x2F;AB&#43;cd&#0061;1&#34;2&lt;3&#38;4",
        r"\x73k/AB+cd=1\x222<3&4",
    ];
    for text in cases {
        assert_eq!(masked(&format!("a {text} b"), &[key]), "a *** b", "{text}");
    }
    assert_eq!(masked("is a%2Fb%2fcdefgh", &["a%2Fb%2fcdefgh"]), "is ***", "one that looks escaped");
    assert_eq!(masked(r"is a%2Fb%2fcde\u0066gh", &["a%2Fb%2fcdefgh"]), "is ***", "and is escaped");
}

/// [HT-55]
#[test]
fn a_secret_in_the_other_case_or_in_base64_is_masked() {
    let key = "sk-CANARY/1234567890";
    assert_eq!(masked(&key.to_uppercase(), &[key]), "***");
    for user in ["", "u", "me", "you", "someone"] {
        for after in ["", "@", "\n\n"] {
            for url in [false, true] {
                let whole = STANDARD_NO_PAD.encode(format!("{user}:~~?{key}{after}"));
                let whole = if url { whole.replace('+', "-").replace('/', "_") } else { whole };
                let shown = masked(&format!("Basic {whole}=="), &[key]);
                let (before, after) = shown.split_once("***").unwrap();
                let left = before.len() - "Basic ".len() + after.len() - "==".len();
                let others = whole.len() - key.len() * 8 / 6;
                assert!(left <= others + 2, "{shown}: a letter at each end is shared");
            }
        }
    }
}

/// [HT-55]
#[test]
fn what_only_looks_like_an_escape_is_left() {
    for text in
        [r"\", r"\u12", r"\u+123", r"\ud800 \uzzzz", "%", "%+1%zz", "& &; &#; &#x; &nosuch; &#x110000;"]
    {
        assert_eq!(masked(text, &["sk-CANARY-1234"]), text);
        assert_eq!(
            masked(&format!("{text}sk-CANARY-1234{text}"), &["sk-CANARY-1234"]),
            format!("{text}***{text}")
        );
    }
}

proptest! {
    /// [HT-54] [HT-55] Any piece of a secret in any of the spellings is gone, and what stands around it stays.
    #[test]
    fn no_piece_survives(
        secret in "[A-Za-z0-9+/=_.-]{12,60}",
        from in 0_usize..40,
        length in PIECE..60,
        spellings in proptest::collection::vec(0_u8..6, 60),
    ) {
        let piece: String = secret.chars().skip(from.min(secret.len() - PIECE)).take(length).collect();
        let spelt: String = piece.chars().zip(spellings).map(|(letter, spelling)| match spelling {
            0 => format!("\\u{:04x}", letter as u32),
            1 => format!("%{:02X}", letter as u32),
            2 => format!("&#{};", letter as u32),
            3 => format!("\\\\u{:04X}", letter as u32),
            _ => letter.to_string(),
        }).collect();
        prop_assert_eq!(masked(&format!("é ({spelt}) ü"), &[&secret]), "é (***) ü");
    }
}
