//! The attributes of a cubin's `.nv.info` sections: the driver's information about a kernel.
//!
//! A section is a list of `format: u8, attribute: u8`, then data by format: nothing (1), a byte and a pad (2), a
//! `u16` (3), or a `u16` length and that number of bytes (4). The attribute numbers are those of cubins that nvcc
//! 13.0 writes for sm_75 to sm_121.

/// An attribute that ncugate reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// Registers per thread of the function with that symbol.
    Registers {
        symbol: u32,
        count: u32,
    },
    /// Stack frame in bytes per thread of the function with that symbol.
    Frame {
        symbol: u32,
        bytes: u32,
    },
    /// Minimum stack in bytes per thread of the entry with that symbol, callees included.
    MinStack {
        symbol: u32,
        bytes: u32,
    },
    /// Maximum threads per block (`__launch_bounds__`), by dimension.
    MaxThreads([u32; 3]),
    /// The only permitted block size, by dimension.
    RequiredBlock([u32; 3]),
    /// The cluster the kernel was compiled for (`__cluster_dims__`).
    Cluster([u32; 3]),
    Barriers(u32),
    /// Total size of the parameters in bytes.
    ParameterBytes(u32),
    /// A kernel parameter: its place in the signature and its size in bytes.
    Parameter {
        ordinal: u32,
        bytes: u32,
    },
    /// Offsets of instructions that spill registers or fetch them back.
    Spills(Vec<u32>),
    /// Instruction notes of an unknown kind.
    UnknownNotes,
}

/// The attributes of a section that ncugate reads, in its order; `None` when it is damaged.
pub fn attributes(mut bytes: &[u8]) -> Option<Vec<Attribute>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (&[format, code, low, high], mut rest) = bytes.split_first_chunk::<4>()?;
        let number = u16::from_le_bytes([low, high]);
        let mut payload: &[u8] = if format == 3 { &[low, high] } else { &[low] };
        if format == 4 {
            (payload, rest) = rest.split_at_checked(usize::from(number))?;
        } else if !(1..=3).contains(&format) {
            return None;
        }
        found.extend(attribute(code, payload));
        bytes = rest;
    }
    Some(found)
}

fn attribute(code: u8, payload: &[u8]) -> Option<Attribute> {
    let words: Vec<u32> = payload.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    match (code, words.as_slice()) {
        (0x19, _) => {
            payload.first_chunk().map(|&bytes| Attribute::ParameterBytes(u32::from(u16::from_le_bytes(bytes))))
        }
        (0x2f, &[symbol, count]) => Some(Attribute::Registers { symbol, count }),
        (0x11, &[symbol, bytes]) => Some(Attribute::Frame { symbol, bytes }),
        (0x12, &[symbol, bytes]) => Some(Attribute::MinStack { symbol, bytes }),
        (0x05, &[x, y, z]) => Some(Attribute::MaxThreads([x, y, z])),
        (0x10, &[x, y, z]) => Some(Attribute::RequiredBlock([x, y, z])),
        (0x3d, &[x, y, z]) => Some(Attribute::Cluster([x, y, z])),
        (0x4c, _) => payload.first().map(|&count| Attribute::Barriers(u32::from(count))),
        (0x17, &[_, place, layout]) => Some(Attribute::Parameter { ordinal: place & 0xffff, bytes: layout >> 18 }),
        // If parameters take more than 4 KiB, the size no longer fits next to the ordinal.
        (0x45, &[_, place, bytes]) => Some(Attribute::Parameter { ordinal: place & 0xffff, bytes }),
        (0x55, words) => Some(notes(words)),
        _ => None,
    }
}

/// Pairs of kind and offset; kind 1 is register spilling.
fn notes(words: &[u32]) -> Attribute {
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() || pairs.iter().any(|&[kind, _]| kind != 1) {
        return Attribute::UnknownNotes;
    }
    Attribute::Spills(pairs.iter().map(|&[_, offset]| offset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_every_format_are_read() {
        let bytes = [
            [4, 0x2f, 8, 0].as_slice(),
            &[8, 0, 0, 0, 32, 0, 0, 0],
            &[3, 0x1b, 0x20, 0],
            &[1, 0x3e, 0, 0],
            &[2, 0x4c, 6, 0],
            &[4, 0x17, 12, 0],
            &[0, 0, 0, 0, 2, 0, 0x10, 0, 0, 0xf0, 0x11, 0],
            &[3, 0x19, 0x7c, 0x17],
            &[4, 0x45, 12, 0],
            &[0, 0, 0, 0, 1, 0, 8, 0, 0x70, 0x17, 0, 0],
            &[4, 0x55, 16, 0],
            &[1, 0, 0, 0, 0xc0, 0, 0, 0, 1, 0, 0, 0, 0xd0, 0, 0, 0],
        ]
        .concat();
        let expected = vec![
            Attribute::Registers { symbol: 8, count: 32 },
            Attribute::Barriers(6),
            Attribute::Parameter { ordinal: 2, bytes: 4 },
            Attribute::ParameterBytes(6012),
            Attribute::Parameter { ordinal: 1, bytes: 6000 },
            Attribute::Spills(vec![0xc0, 0xd0]),
        ];
        assert_eq!(attributes(&bytes), Some(expected));
    }

    #[test]
    fn a_damaged_section_is_refused_and_unknown_notes_are_reported() {
        assert_eq!(attributes(&[4, 0x2f, 8, 0, 1]), None);
        assert_eq!(attributes(&[9, 0, 0, 0]), None);
        assert_eq!(attributes(&[4, 0x2f]), None);
        assert_eq!(notes(&[1, 16, 2, 32]), Attribute::UnknownNotes);
        assert_eq!(notes(&[1, 16, 1]), Attribute::UnknownNotes);
    }
}
