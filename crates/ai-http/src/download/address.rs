//! Which addresses are for everyone.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Whether an address is one of the public internet: not of this machine, this network, a provider's inside, a
/// document or a group of machines.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match [a, b, c, d, e, f] {
        // An IPv4 address in the clothes of the other: mapped, translated (NAT64), and 6to4, where it stands in front.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => v4(g, h),
        [0x2002, high, low, ..] => v4(high, low),
        // Protocol assignments, Teredo among them, and documents.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // All that is given out as public so far.
        _ => a & 0xe000 == 0x2000,
    }
}

/// Resolves names to public addresses alone: what is connected to is what was checked.
#[derive(Debug)]
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            match public.is_empty() {
                true => Err(NotPublic(name.as_str().to_owned()).into()),
                false => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

/// A host that is not reached on behalf of others.
#[derive(Debug)]
pub(super) struct NotPublic(pub(super) String);

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no public address, and files of an inner network are not fetched", self.0)
    }
}

impl std::error::Error for NotPublic {}
