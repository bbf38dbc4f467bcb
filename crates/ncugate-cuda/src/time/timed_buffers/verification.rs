//! Verifies the results of launches in timed buffers, and detects other writes.

use super::super::output_comparison::{OutputComparison, OutputPlace};
use super::{TimedBuffers, is_compared};
use crate::gpu::{CudaDevice, DeviceError, MemoryDigest, MemoryRow, PendingDigests, VariantExtents};
use crate::prove::{PlacedOutput, compare_outputs};
use ncugate_model::CheckOutcome;

impl TimedBuffers {
    /// Whether the outputs of a set with this content were unchanged since before its first launch when their digests
    /// were requested.
    pub fn is_fresh(&self, content: usize, pending: &[PendingDigests]) -> bool {
        let found: Vec<MemoryDigest> = pending.iter().flat_map(|pending| self.digester.read(pending)).collect();
        found == self.contents[content].poison
    }

    /// Compares the outputs of a variant's launch with these extents with those of a content: by digest, or in full
    /// on the host if the digests are unknown.
    ///
    /// # Errors
    /// The copy fails.
    pub fn compare(
        &mut self,
        device: &CudaDevice,
        place: OutputPlace,
        (content, extents): (usize, &VariantExtents),
        digests: Vec<MemoryDigest>,
    ) -> Result<OutputComparison, DeviceError> {
        let found = (extents.clone(), digests);
        if self.contents[content].right.contains(&found) {
            return Ok(OutputComparison::Known);
        }
        match self.in_full(device, place, (content, extents))? {
            CheckOutcome::Correct { .. } => {
                self.contents[content].right.insert(found);
                Ok(OutputComparison::New)
            }
            CheckOutcome::Wrong { reason, .. }
            | CheckOutcome::Crashed { reason }
            | CheckOutcome::Skipped { reason } => Ok(OutputComparison::Wrong(reason)),
        }
    }

    fn in_full(
        &mut self,
        device: &CudaDevice,
        place: OutputPlace,
        (content, extents): (usize, &VariantExtents),
    ) -> Result<CheckOutcome, DeviceError> {
        let (mut outputs, mut at): (Vec<PlacedOutput<'_>>, usize) = (Vec::new(), self.snapshot_start(place));
        let buffers = self.shape.buffers.iter().enumerate().filter(|(_, buffer)| is_compared(buffer));
        for ((buffer, _), region) in buffers.zip(self.outputs()) {
            let length = region.len();
            outputs.push(match place {
                OutputPlace::Set(set) => (buffer, self.sets[set].memory(), region),
                OutputPlace::LeadIn => (buffer, self.lead_in.memory(), region),
                OutputPlace::Snapshot(_) => (buffer, &self.snapshots, at..at + length),
            });
            at += length.next_multiple_of(16);
        }
        let proof = (&self.contents[content].draw, &self.tolerance);
        compare_outputs(device, &mut self.image, proof, (&self.shape, extents), &outputs)
    }

    fn snapshot_start(&self, place: OutputPlace) -> usize {
        match place {
            OutputPlace::Snapshot(number) => self.snapshot_bytes() * number,
            OutputPlace::Set(_) | OutputPlace::LeadIn => 0,
        }
    }

    /// Where launches wrote in a set outside outputs and scratch, if they did; `content` is the last content of the
    /// set.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn written_out_of_bounds(
        &mut self,
        device: &CudaDevice,
        set: usize,
        content: usize,
    ) -> Result<Option<String>, DeviceError> {
        let found = self.digests_of_kept(device, self.sets[set].memory().address())?;
        if found == self.contents[content].kept {
            return Ok(None);
        }
        let layout = self.lead_in.layout().clone();
        let mut before = vec![0; layout.bytes()];
        layout.write_fresh(&self.shape.buffers, &self.contents[content].draw.inputs.bytes, &mut before);
        let mut after = device.pinned(layout.bytes())?;
        device.download(&mut after, self.sets[set].memory())?;
        let place = layout.out_of_bounds_write(&self.shape.buffers, &before, after.as_slice());
        Ok(Some(place.unwrap_or_else(|| "inputs or guard bands were written, then restored".to_owned())))
    }

    /// Whether inputs or guard bands of the sets that hold `contents`, or of the lead-in, have changed since they
    /// were filled.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn is_damaged(&mut self, device: &CudaDevice, contents: &[usize]) -> Result<bool, DeviceError> {
        let sets = contents.iter().enumerate().map(|(set, &content)| (self.sets[set].memory().address(), content));
        let lead_in = self.lead_in_held.map(|content| (self.lead_in.memory().address(), content));
        for (address, content) in sets.chain(lead_in).collect::<Vec<_>>() {
            if self.digests_of_kept(device, address)? != self.contents[content].kept {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn digests_of_kept(
        &mut self,
        device: &CudaDevice,
        address: u64,
    ) -> Result<Vec<MemoryDigest>, DeviceError> {
        self.digester.clear();
        let mut pending = Vec::new();
        for range in self.lead_in.layout().protected_ranges(&self.shape.buffers) {
            let row = MemoryRow { address: address + range.start as u64, bytes: range.len(), stride: 0, count: 1 };
            pending.push(self.digester.request(device, &row)?);
        }
        device.synchronize()?;
        Ok(pending.iter().flat_map(|pending| self.digester.read(pending)).collect())
    }
}
