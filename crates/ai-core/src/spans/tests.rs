use super::host;

/// [AC-391]
#[test]
fn the_address_of_the_server_is_the_host_of_its_endpoint() {
    for (endpoint, expected) in [
        ("https://api.example.com/v1", Some("api.example.com")),
        ("http://127.0.0.1:8080", Some("127.0.0.1")),
        ("http://[::1]:8080/v1", Some("::1")),
        ("https://user:secret@host:1/x?y#z", Some("host")),
        ("memory", None),
        ("https:///v1", None),
    ] {
        assert_eq!(host(endpoint), expected, "{endpoint}");
    }
}
