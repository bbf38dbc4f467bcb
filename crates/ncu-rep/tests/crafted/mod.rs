//! Small reports built field by field, for everything that the captures do not contain.

/// A message under construction.
#[derive(Debug, Clone, Default)]
pub struct Message(pub Vec<u8>);

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Message {
    pub fn int(mut self, number: u32, value: u64) -> Self {
        varint(&mut self.0, u64::from(number) << 3);
        varint(&mut self.0, value);
        self
    }

    pub fn bytes(mut self, number: u32, bytes: &[u8]) -> Self {
        varint(&mut self.0, u64::from(number) << 3 | 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, number: u32, text: &str) -> Self {
        self.bytes(number, text.as_bytes())
    }

    pub fn inside(self, number: u32, message: Message) -> Self {
        self.bytes(number, &message.0)
    }

    pub fn double(mut self, number: u32, value: f64) -> Self {
        varint(&mut self.0, u64::from(number) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn float(mut self, number: u32, value: f32) -> Self {
        varint(&mut self.0, u64::from(number) << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
}

pub fn message() -> Message {
    Message::default()
}

/// A metric: name index and value message.
pub fn metric(name: u64, value: Option<Message>) -> Message {
    let metric = message().int(1, name);
    value.map_or(metric.clone(), |value| metric.inside(2, value))
}

/// The container around blocks of header and payload entries.
pub fn file(version: u64, blocks: &[(Message, Vec<Message>)]) -> Vec<u8> {
    let mut out = b"NVR\0".to_vec();
    let header = message().int(1, version).0;
    out.extend((header.len() as u32).to_le_bytes());
    out.extend(header);
    for (header, entries) in blocks {
        let mut payload = Vec::new();
        for entry in entries {
            payload.extend((entry.0.len() as u32).to_le_bytes());
            payload.extend(&entry.0);
        }
        let header = header.clone().int(5, payload.len() as u64);
        out.extend((header.0.len() as u32).to_le_bytes());
        out.extend(header.0);
        out.extend(payload);
    }
    out
}

/// Where each block of a file starts, and its end.
pub fn boundaries(file: &[u8], blocks: &[(Message, Vec<Message>)]) -> Vec<usize> {
    let mut at = 8 + u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize;
    let mut out = vec![at];
    for (header, entries) in blocks {
        let payload: usize = entries.iter().map(|entry| 4 + entry.0.len()).sum();
        at += 4 + header.clone().int(5, payload as u64).0.len() + payload;
        out.push(at);
    }
    out
}

fn nvtx() -> Message {
    let push = |name: &str| message().text(1, name);
    message()
        .inside(1, message().int(1, 0).text(2, "<default domain>"))
        .inside(1, message().int(1, 7).text(2, "solver"))
        .inside(
            2,
            message().int(1, 655).inside(2, message().int(1, 0).inside(3, push("outer")).inside(3, push("inner"))),
        )
        .inside(2, message().int(1, 999).inside(2, message().int(1, 7).inside(3, push("elsewhere"))))
        .inside(3, message().int(1, 7).inside(3, message().int(1, 1).text(2, "step")))
        .int(4, 0)
}

fn rule() -> Message {
    let item = message()
        .inside(1, message().text(1, "see @section:Occupancy:Occupancy@").int(2, 4).text(4, "Title"))
        .inside(8, message().text(2, "a__x.sum").double(3, 1.5).int(4, 2).text(5, "lower it"))
        .inside(10, message().int(1, 2).double(2, 12.5))
        .inside(12, message().inside(2, message().text(1, "Address").int(2, 2).int(3, 2).int(6, 3).int(6, u64::MAX)));
    message().text(1, "Rule").text(2, "A rule").inside(3, message().inside(1, item)).text(4, "Section")
}

/// Blocks of a report with two processes, every kind of result and value, and a string table after its users.
pub fn blocks() -> Vec<(Message, Vec<Message>)> {
    let process = |pid: u64| message().int(1, pid).text(2, "127.0.0.1").text(3, "/srv/app");
    let kernel = message()
        .int(1, 655)
        .int(2, 15)
        .int(3, 1)
        .int(4, 1)
        .int(8, 3)
        .inside(9, message().int(1, 0).int(2, 0).int(3, 0))
        .text(5, "_Z1fv")
        .text(6, "f")
        .text(7, "f()")
        .inside(10, message().int(1, 4).int(2, 3).int(3, 2))
        .inside(11, message().int(1, 128).int(2, 1).int(3, 1))
        .inside(13, metric(0, Some(message().double(3, 0.1))))
        .inside(13, metric(1, Some(message().float(2, 0.1))))
        .inside(13, metric(2, Some(message().int(4, 7))))
        .inside(
            13,
            metric(3, Some(message().int(5, u64::MAX - 1)))
                .inside(3, message().inside(1, message().int(5, 16)).inside(2, message().int(5, 9))),
        )
        .inside(13, metric(4, Some(message().text(1, "text"))))
        .inside(13, metric(5, None))
        .inside(13, metric(0, Some(message().double(3, 99.0))))
        .inside(13, metric(6, Some(message().double(3, f64::NAN))))
        .inside(13, metric(7, Some(message().int(5, u64::MAX))))
        .inside(13, metric(8, Some(message().int(4, u64::from(u32::MAX)))))
        .inside(15, message().int(1, 42))
        .inside(19, rule())
        .inside(21, nvtx())
        .int(22, 1)
        .int(23, 7)
        .inside(25, message().int(1, 1).int(2, 0))
        .float(35, 580.159)
        .int(300, 5);
    let range = message()
        .int(1, 1)
        .int(2, 2)
        .inside(4, metric(0, Some(message().double(3, 2.0))))
        .int(11, 3)
        .bytes(15, &[42, 43]);
    let graph = message()
        .int(1, 1)
        .int(2, 2)
        .inside(4, metric(0, Some(message().double(3, 3.0))))
        .int(11, 3)
        .int(12, 8)
        .int(17, 42);
    let strings =
        ["a__x.sum", "b__float", "c__u32", "d__u64", "e__text", "f__missing", "g__nan", "h__u64_max", "i__u32_max"];
    let table = |names: &[&str]| names.iter().fold(message(), |table, name| table.text(1, name));
    let session = message()
        .int(2, 1_800_000_000)
        .inside(3, message().text(5, "host"))
        .text(11, "/opt/ncu --clock-control=base ./app ");
    vec![
        (message().int(1, 0).int(2, 0).inside(3, session).inside(6, process(10)), vec![]),
        (message().int(1, 1).inside(6, process(10)), vec![message().int(1, 42).bytes(4, b"\x7fELF").int(6, 0x90000)]),
        (message().int(2, 1).inside(4, table(&strings[..3])).inside(6, process(10)), vec![kernel.clone()]),
        (message().int(7, 1).inside(6, process(11)), vec![range]),
        (message().int(9, 1).inside(4, table(&strings[3..])).inside(6, process(11)), vec![graph]),
        (
            message().inside(3, message().inside(8, message().text(1, "Nsight Compute Target").text(2, "2026.1"))),
            vec![],
        ),
    ]
}
