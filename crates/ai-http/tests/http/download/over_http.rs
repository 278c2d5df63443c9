use std::time::Duration;

use ai_http::HttpDownload;
use ai_testkit::{MemoryEnd, WireReply, WireServer};

use super::*;

fn over(transport: &MemoryTransport) -> HttpDownload {
    HttpDownload::over(Arc::new(transport.clone()))
}

fn redirect(status: u16, to: &str) -> MemoryReply {
    MemoryReply::new(StatusCode::from_u16(status).unwrap(), "").header("location", to)
}

/// [HT-130]
#[tokio::test]
async fn a_file_comes_with_its_type_and_without_anything_of_ours() {
    let transport = MemoryTransport::new()
        .reply(MemoryReply::ok(PNG).header("content-type", "Image/PNG; q=1"))
        .reply(MemoryReply::ok("x").header("content-type", " "));
    let download = over(&transport);
    assert_eq!(download.download("https://a.test/p.png#top").await.unwrap(), file("image/png", PNG));
    assert_eq!(download.download("http://a.test/x").await.unwrap().data, "x");
    let calls = transport.calls();
    assert_eq!((calls[0].method.as_str(), calls[0].body.len(), calls[0].headers.len()), ("GET", 0, 0));
}

/// [HT-131] [HT-132]
#[tokio::test]
async fn addresses_in_a_url_are_refused_before_anything_is_sent() {
    let transport = MemoryTransport::new().repeat(MemoryReply::ok("inside"));
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]:8080/",
        "https://10.0.0.8/a?b",
        "http://169.254.169.254/latest/meta-data",
        "http://user:pw@192.168.0.1/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://0/",
        "http://１２７.0.0.1/",
    ] {
        let error = over(&transport).download(url).await.unwrap_err();
        assert_eq!(class(&error), (ErrorClass::InvalidRequest, false), "{url}");
        assert!(error.message().contains("no public address"), "{error}");
        assert!(error.url().is_some() && !error.to_string().contains("pw"), "{error}");
    }
    for url in
        ["file:///etc/passwd", "ftp://a.test/x", "gopher://a.test", "a.test/x", "", "http://", "unix:/run/x"]
    {
        let error = over(&transport).download(url).await.unwrap_err();
        assert_eq!(class(&error), (ErrorClass::InvalidRequest, false), "{url}");
    }
    assert_eq!(transport.calls().len(), 0);
    assert_eq!(over(&transport).download("http://93.184.216.34/").await.unwrap().data, "inside");
}

/// [HT-131] [HT-133]
#[tokio::test]
async fn each_redirect_is_checked_like_the_first_url() {
    for to in
        ["http://127.0.0.1/secret", "http://[::ffff:10.0.0.1]/", "//169.254.169.254/", "file:///etc/passwd"]
    {
        let transport = MemoryTransport::new().reply(redirect(302, to)).repeat(MemoryReply::ok("inside"));
        let error = over(&transport).download("https://a.test/x").await.unwrap_err();
        assert_eq!(class(&error), (ErrorClass::InvalidRequest, false), "{to}");
        assert_eq!(transport.calls().len(), 1, "{to}");
    }
    let transport = MemoryTransport::new()
        .reply(redirect(301, "/b"))
        .reply(redirect(307, "https://cdn.test/c?d"))
        .reply(MemoryReply::ok("there"));
    assert_eq!(over(&transport).download("http://a.test/a").await.unwrap().data, "there");
    let urls: Vec<_> = transport.calls().into_iter().map(|call| call.url).collect();
    assert_eq!(urls, ["http://a.test/a", "http://a.test/b", "https://cdn.test/c?d"]);

    let circle = MemoryTransport::new().repeat(redirect(302, "/"));
    assert!(
        over(&circle).download("http://a.test/").await.unwrap_err().message().contains("more than 5 times")
    );
    assert_eq!(circle.calls().len(), 6);
    let nowhere = MemoryTransport::new().reply(MemoryReply::new(StatusCode::FOUND, ""));
    assert!(
        over(&nowhere).download("http://a.test/").await.unwrap_err().message().contains("not said to where")
    );
}

/// [HT-132]
#[tokio::test]
async fn a_name_that_leads_inside_is_refused_after_it_was_resolved() {
    let server = WireServer::repeat(WireReply::ok("inside")).unwrap();
    let port = server.address().port();
    let download = HttpDownload::new().unwrap();
    for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
        let error = download.download(&format!("http://{host}:{port}/x")).await.unwrap_err();
        assert_eq!(class(&error), (ErrorClass::InvalidRequest, false), "{error}");
        assert!(error.message().contains("no public address"), "{host}: {error}");
    }
    assert_eq!(server.connections(), 0);
    let trusting = HttpDownload::including_private().unwrap();
    assert_eq!(trusting.download(&format!("http://127.0.0.1:{port}/x")).await.unwrap().data, "inside");
    assert_eq!(server.connections(), 1);
}

/// [HT-133]
#[tokio::test]
async fn redirects_of_a_real_server_reach_the_download() {
    let server = WireServer::start([
        WireReply::new(StatusCode::FOUND, "").header("location", "/b"),
        WireReply::ok("there").header("content-type", "text/plain"),
    ])
    .unwrap();
    let got =
        HttpDownload::including_private().unwrap().download(&format!("{}/a", server.url())).await.unwrap();
    assert_eq!(got, file("text/plain", b"there"));
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/a", "/b"]);
}

/// [HT-134]
#[tokio::test]
async fn a_file_beyond_the_limit_ends_the_read() {
    let said = MemoryReply::ok("12345").header("content-length", "99999999999999999999");
    for (reply, taken) in [
        (MemoryReply::ok("12345"), true),
        (MemoryReply::ok("123456"), false),
        (MemoryReply::ok("1234567890").cut(ai_testkit::Cut::Every(1)), false),
        (MemoryReply::ok("12345").header("content-length", "6"), false),
        (said, true),
    ] {
        let transport = MemoryTransport::new().reply(reply);
        let result = over(&transport).with_limit(5).download("http://a.test/").await;
        assert_eq!(result.is_ok(), taken, "{result:?}");
        if let Err(error) = result {
            assert_eq!(class(&error), (ErrorClass::TooLarge, false));
        }
    }
    const MIB: usize = 1024 * 1024;
    for (size, taken) in [(20 * MIB, true), (20 * MIB + 1, false)] {
        let transport = MemoryTransport::new().reply(MemoryReply::ok(vec![0; size]));
        assert_eq!(over(&transport).download("http://a.test/").await.is_ok(), taken);
    }
}

/// [HT-135]
#[tokio::test]
async fn what_may_pass_is_told_from_what_will_not() {
    for (status, retryable) in [
        (400, false),
        (401, false),
        (404, false),
        (410, false),
        (304, false),
        (408, true),
        (429, true),
        (500, true),
        (503, true),
    ] {
        let transport =
            MemoryTransport::new().reply(MemoryReply::new(StatusCode::from_u16(status).unwrap(), "no"));
        let error = over(&transport).download("http://a.test/p?token=geheim-12345").await.unwrap_err();
        let expected = if retryable { ErrorClass::Transport } else { ErrorClass::InvalidRequest };
        assert_eq!(class(&error), (expected, retryable), "{status}");
        // The status of another server than the model's says nothing of the model's.
        assert_eq!(error.status(), None);
        assert!(
            error.message().contains(&status.to_string()) && !error.to_string().contains("geheim"),
            "{error}"
        );
    }
    let broken = ModelError::new(ErrorClass::Transport, "broke");
    let transport = MemoryTransport::new()
        .reply(MemoryReply::fail(broken.clone()))
        .reply(MemoryReply::ok("half").ending(MemoryEnd::Error(broken.clone())))
        .reply(MemoryReply::ok("x").header("content-encoding", "gzip"));
    for (word, expected) in [("broke", true), ("", true), ("compressed (gzip)", false)] {
        let error = over(&transport).download("http://a.test/").await.unwrap_err();
        assert_eq!(error.retryable(), expected, "{error}");
        assert!(error.message().contains(word) && error.message().contains("http://a.test/"), "{error}");
    }
}

/// [HT-135]
#[tokio::test(start_paused = true)]
async fn a_download_has_a_time() {
    let slow = MemoryReply::ok("12345678").cut(ai_testkit::Cut::Every(1)).chunk_delay(Duration::from_secs(5));
    for (reply, done) in [
        (MemoryReply::ok("x").head_delay(Duration::from_secs(31)), false),
        (MemoryReply::ok("x").head_delay(Duration::from_secs(29)), true),
        (slow, false),
    ] {
        let transport = MemoryTransport::new().reply(reply);
        let result = over(&transport).download("http://a.test/").await;
        assert_eq!(result.is_ok(), done, "{result:?}");
        if let Err(error) = result {
            assert_eq!(class(&error), (ErrorClass::Timeout, true));
        }
    }
    let transport = MemoryTransport::new().reply(MemoryReply::ok("x").head_delay(Duration::from_secs(2)));
    assert!(over(&transport).with_timeout(Duration::from_secs(1)).download("http://a.test/").await.is_err());
}
