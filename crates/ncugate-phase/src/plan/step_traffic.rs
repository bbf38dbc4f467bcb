//! Bytes that the fills and copies of a program move. ncu does not count them.

use super::program::{ShapeProgram, Step};
use ncugate_model::number::counted;

/// Maximum number of steps in a sentence.
const NAMED: usize = 3;

/// Fills and copies of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTraffic {
    /// Bytes read; none if the size of a buffer is unknown.
    pub read: Option<f64>,
    /// Bytes written; none if the size of a buffer is unknown.
    pub written: Option<f64>,
    /// The steps in words: `memset t, memcpy x to y`.
    pub steps: String,
}

impl StepTraffic {
    /// Bytes read and written together.
    pub fn moved(&self) -> Option<f64> {
        Some(self.read? + self.written?)
    }
}

impl ShapeProgram {
    /// Its fills and copies: a fill writes its bytes once, a copy reads and writes them once. None for a program without them.
    ///
    /// `bytes_of` is the size of a buffer, for steps over a whole buffer.
    pub fn step_traffic(&self, bytes_of: impl Fn(&str) -> Option<f64>) -> Option<StepTraffic> {
        let (mut read, mut written, mut names) = (Some(0.0), Some(0.0), Vec::new());
        let add = |sum: &mut Option<f64>, bytes: Option<f64>| *sum = sum.zip(bytes).map(|(sum, bytes)| sum + bytes);
        for step in &self.steps {
            match step {
                Step::Launch(_) => {}
                Step::Memset(fill) => {
                    add(&mut written, fill.bytes.map(|bytes| bytes as f64).or_else(|| bytes_of(&fill.buffer)));
                    names.push(format!("memset {}", fill.buffer));
                }
                Step::Memcpy(copy) => {
                    let bytes = copy.bytes.map(|bytes| bytes as f64).or_else(|| bytes_of(&copy.from));
                    add(&mut read, bytes);
                    add(&mut written, bytes);
                    names.push(format!("memcpy {} to {}", copy.from, copy.to));
                }
            }
        }
        let steps = match names.len() {
            0 => return None,
            few if few <= NAMED => names.join(", "),
            many => format!("{} and {}", names[..NAMED].join(", "), counted(many - NAMED, "more step")),
        };
        Some(StepTraffic { read, written, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::{BufferCopy, BufferFill};
    use super::*;
    use ncugate_model::ShapeName;

    #[test]
    fn a_fill_writes_and_a_copy_reads_and_writes() {
        let fill = |bytes| Step::Memset(BufferFill { buffer: "t".to_owned(), byte: 0, bytes });
        let copy = Step::Memcpy(BufferCopy { from: "x".to_owned(), to: "y".to_owned(), bytes: None });
        let of = |steps: &[Step]| {
            let program = ShapeProgram::new(ShapeName("s".into()), steps.to_vec());
            program.step_traffic(|name| (name == "x").then_some(1000.0))
        };
        assert_eq!(of(&[]), None);
        let both = of(&[fill(Some(24)), copy.clone()]).unwrap_or_else(|| unreachable!());
        assert_eq!((both.read, both.written, both.moved()), (Some(1000.0), Some(1024.0), Some(2024.0)));
        assert_eq!(both.steps, "memset t, memcpy x to y");
        let unknown =
            of(&[fill(None), copy.clone(), copy.clone(), copy.clone(), copy]).unwrap_or_else(|| unreachable!());
        assert_eq!((unknown.written, unknown.moved()), (None, None));
        assert!(unknown.steps.ends_with("memcpy x to y and 2 more steps"), "{}", unknown.steps);
    }
}
