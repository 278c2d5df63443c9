//! Whether a configuration points at the program itself: a provider that is `chat serve` would ask itself for ever.

use std::net::IpAddr;
use std::path::Path;

use url::{Host, Url};

use super::serve::ServeConfig;

/// Whether a URL leads to where `chat serve` listens, or to a name under which it is called.
pub(crate) fn is_own_address(serve: &ServeConfig, url: &Url) -> bool {
    let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else { return false };
    let named = serve.allowed_hosts.iter().any(|name| {
        let as_url = Url::parse(&format!("{}://{name}", url.scheme())).ok();
        as_url.is_some_and(|named| named.host() == url.host() && named.port_or_known_default() == Some(port))
    });
    let listens = serve.listen.ip().to_canonical();
    let reached = match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let local = name == "localhost" || name.ends_with(".localhost");
            local && (listens.is_loopback() || listens.is_unspecified())
        }
        Host::Ipv4(ip) => reaches(IpAddr::V4(ip), listens),
        Host::Ipv6(ip) => reaches(IpAddr::V6(ip).to_canonical(), listens),
    };
    named || (reached && port == serve.listen.port())
}

/// Whether a connection to an address of this machine comes to who listens there. To connect to the address of no host
/// is to connect to this one.
fn reaches(to: IpAddr, listens: IpAddr) -> bool {
    let own = to.is_loopback() || to.is_unspecified();
    to == listens || (own && listens.is_unspecified()) || (to.is_unspecified() && listens.is_loopback())
}

/// Whether a command starts this program: by its path, by a link to it, or by a name that is found in `path`.
pub(crate) fn is_own_program(command: &Path, path: Option<&std::ffi::OsStr>) -> bool {
    let Ok(own) = std::env::current_exe().and_then(std::fs::canonicalize) else { return false };
    find_program(command, path).and_then(|found| found.canonicalize().ok()).is_some_and(|found| found == own)
}

/// The file a command starts.
pub(crate) fn find_program(command: &Path, path: Option<&std::ffi::OsStr>) -> Option<std::path::PathBuf> {
    if command.components().count() > 1 {
        return command.is_file().then(|| command.to_owned());
    }
    std::env::split_paths(path?).map(|folder| folder.join(command)).find(|file| file.is_file())
}
