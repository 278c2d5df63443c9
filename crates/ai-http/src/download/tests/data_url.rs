use super::super::data_url::read;

/// [HT-136]
#[test]
fn a_data_url_is_its_own_file() {
    for (url, media_type, data) in [
        ("data:image/png;base64,aGk=", Some("image/png"), "hi"),
        ("DATA:Image/PNG;base64,aGk", Some("image/png"), "hi"),
        ("data:text/plain;charset=utf-8;base64,aGk%3D", Some("text/plain"), "hi"),
        ("data:text/plain;charset=utf-8,a%20b,c", Some("text/plain"), "a b,c"),
        ("data:,x", None, "x"),
        ("data:;base64,aGk=", None, "hi"),
        ("data:image/png; BASE64 ,aGk=%0A", Some("image/png"), "hi"),
    ] {
        let file = read(url).unwrap().unwrap();
        assert_eq!((file.media_type.as_deref(), &*file.data), (media_type, data.as_bytes()), "{url}");
    }
    assert_eq!(read("data:image/png;base64,***").unwrap(), Err("its data: URL is no base64"));
    assert_eq!(read("data:image/png;base64").unwrap(), Err("its data: URL has no comma"));
    for other in ["https://a/b", "dat", "", "é", "ddddé:"] {
        assert!(read(other).is_none(), "{other}");
    }
}
