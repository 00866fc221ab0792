//! A message to the server that leaves packet by packet while it is made.

use duramen_server::client::Stream;
use duramen_tds::client::Client;
use duramen_tds::packet::{Header, PacketType};

pub struct Upload<'c> {
    pub client: &'c mut Client<Stream>,
    /// What has not left yet.
    pub body: Vec<u8>,
    /// Bytes until the end of an upload that is cut.
    pub left: usize,
    id: u8,
}

impl<'c> Upload<'c> {
    pub fn new(client: &'c mut Client<Stream>, left: usize) -> Upload<'c> {
        Upload {
            client,
            body: Vec::new(),
            left,
            id: 0,
        }
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
        let most = self.client.packet_bytes() - 8;
        while self.body.len() > most && self.left > 0 {
            let rest = self.body.split_off(most);
            self.left = self.left.saturating_sub(most);
            self.packet(0);
            self.body = rest;
        }
    }

    pub fn packet(&mut self, status: u8) {
        self.id = self.id.wrapping_add(1);
        let header = Header {
            kind: PacketType::Rpc,
            status,
            length: (self.body.len() + 8) as u16,
            spid: 0,
            id: self.id,
        };
        let mut packet = header.to_bytes().to_vec();
        packet.append(&mut self.body);
        self.client.send_raw(&packet).expect("the server reads");
    }
}
