//! One result of a report: a kernel launch, or a range, command list or graph.

use std::borrow::Cow;

use crate::error::ReportError;
use crate::head::{ClockStatus, Head};
use crate::index::Index;
use crate::layout::ResultKind;
use crate::metric::{self, Metric, Metrics};
use crate::nvtx::{self, NvtxRange};
use crate::process::Process;
use crate::rule::{self, RuleResult};
use crate::schema::source;
use crate::value::MetricValue;
use crate::wire::{ByteSpan, Field, Message};

/// One result of a report, mostly a kernel launch. A light handle: scalars are stored, the rest is decoded on demand.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'r> {
    pub(crate) index: &'r Index,
    pub(crate) head: &'r Head,
    pub(crate) id: u32,
}

impl<'r> Launch<'r> {
    fn text(&self, span: ByteSpan) -> Cow<'r, str> {
        span.text(self.index.data())
    }

    /// The id that ncu prints, from 0. It counts the launches of one process after those of another.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The position in the file, from 0, as counted by NVIDIA's `ncu_report`. Differs from [`Launch::id`] if the
    /// launches of several processes alternate.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.head.index
    }

    /// The kind of the result.
    #[must_use]
    pub fn kind(&self) -> ResultKind {
        self.head.kind
    }

    /// Name of the kernel's function, without template arguments and parameters. Empty for ranges and graphs.
    #[must_use]
    pub fn kernel_name(&self) -> Cow<'r, str> {
        self.text(self.head.function)
    }

    /// Mangled name of the kernel.
    #[must_use]
    pub fn mangled_name(&self) -> Cow<'r, str> {
        self.text(self.head.mangled)
    }

    /// Demangled name of the kernel, or the function's name if the report has no demangled one (`extern "C"`).
    #[must_use]
    pub fn demangled_name(&self) -> Cow<'r, str> {
        let span = if self.head.demangled.len > 0 { self.head.demangled } else { self.head.function };
        self.text(span)
    }

    /// Grid size in blocks, in x, y, z. Only for kernels.
    #[must_use]
    pub fn grid(&self) -> Option<[u32; 3]> {
        self.head.grid
    }

    /// Block size in threads, in x, y, z. Only for kernels.
    #[must_use]
    pub fn block(&self) -> Option<[u32; 3]> {
        self.head.block
    }

    /// Cluster size in blocks, in x, y, z, from the launch's metrics; `None` for a launch without clusters.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn cluster(&self) -> Result<Option<[u32; 3]>, ReportError> {
        let mut out = [0; 3];
        for (slot, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            *slot = self.attribute(&format!("launch__cluster_dim_{axis}"))?.unwrap_or(0);
        }
        Ok((out != [0; 3]).then_some(out))
    }

    /// CUDA context.
    #[must_use]
    pub fn context(&self) -> Option<u32> {
        self.head.context
    }

    /// CUDA stream.
    #[must_use]
    pub fn stream(&self) -> Option<u32> {
        self.head.stream
    }

    /// NVTX name of the context.
    #[must_use]
    pub fn context_name(&self) -> Cow<'r, str> {
        self.text(self.head.context_name)
    }

    /// NVTX name of the stream.
    #[must_use]
    pub fn stream_name(&self) -> Cow<'r, str> {
        self.text(self.head.stream_name)
    }

    /// Thread of the process that launched the kernel.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.head.thread
    }

    /// Ordinal of the launch among the process's API calls.
    #[must_use]
    pub fn api_call(&self) -> u64 {
        self.head.api_call
    }

    /// Time of the measurement, in seconds since 1970; `None` when the report does not contain it.
    #[must_use]
    pub fn created(&self) -> Option<u64> {
        self.head.created
    }

    /// Clock control by ncu; `None` when the report does not contain it.
    #[must_use]
    pub fn clock_status(&self) -> Option<ClockStatus> {
        self.head.clocks
    }

    /// Version of the kernel-mode driver. The report stores a float, so 580.159.04 reads 580.159.
    #[must_use]
    pub fn driver(&self) -> Option<f32> {
        self.head.driver
    }

    /// Whether ncu reported the device as unsupported.
    #[must_use]
    pub fn is_unsupported_device(&self) -> bool {
        self.head.unsupported_device
    }

    /// The process that launched the kernel.
    #[must_use]
    pub fn process(&self) -> Option<&'r Process> {
        self.index.processes.get(self.head.process? as usize)
    }

    /// Index of the device among those visible to the process.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn device(&self) -> Result<Option<u32>, ReportError> {
        self.attribute("launch__device_id")
    }

    /// Compute capability of the device, major and minor.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn compute_capability(&self) -> Result<Option<(u32, u32)>, ReportError> {
        let major = self.attribute("device__attribute_compute_capability_major")?;
        let minor = self.attribute("device__attribute_compute_capability_minor")?;
        Ok(major.zip(minor))
    }

    /// Name of the device.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn device_name(&self) -> Result<Option<Cow<'r, str>>, ReportError> {
        Ok(match self.metric("device__attribute_display_name")? {
            Some(MetricValue::String(name)) => Some(name),
            _ => None,
        })
    }

    /// Multiprocessors of the device.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn sm_count(&self) -> Result<Option<u32>, ReportError> {
        self.attribute("device__attribute_multiprocessor_count")
    }

    fn attribute(&self, name: &str) -> Result<Option<u32>, ReportError> {
        Ok(self.metric(name)?.and_then(|value| value.as_u64()).and_then(|value| u32::try_from(value).ok()))
    }

    /// All metrics, each name once, in the report's order. If a report repeats a metric, the last value counts, as
    /// for NVIDIA's reader. Values are in base units, which [`Metric::unit`] names.
    #[must_use]
    pub fn metrics(&self) -> Metrics<'r> {
        Metrics::new(self.index.data(), &self.index.names, self.head)
    }

    /// The aggregate value of a metric by its full name, in its base unit. `Ok(None)` when the launch does not have
    /// the metric, [`MetricValue::Missing`] when it was requested but not collected.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// let launch = report.launch(0).unwrap();
    /// let duration = launch.metric("gpu__time_duration.sum")?.unwrap();
    /// assert!(duration.as_f64().is_some_and(|nanoseconds| nanoseconds > 0.0));
    /// assert_eq!(launch.metric("no__such_metric.sum")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged metric.
    pub fn metric(&self, name: &str) -> Result<Option<MetricValue<'r>>, ReportError> {
        Ok(self.find_metric(name)?.map(|metric| metric.value))
    }

    /// A metric with its instances by its full name.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// let launch = report.launch(0).unwrap();
    /// let curve = launch.find_metric("launch__occupancy_per_block_size")?.unwrap();
    /// for point in curve.instances() {
    ///     let point = point?;
    ///     println!("{} threads: {} warps", point.correlation, point.value);
    /// }
    /// assert_eq!(curve.instances().count(), 65);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged metric.
    pub fn find_metric(&self, name: &str) -> Result<Option<Metric<'r>>, ReportError> {
        let Some(id) = self.index.names.place_of(name) else { return Ok(None) };
        metric::find(self.index.data(), &self.index.names, self.head, id)
    }

    /// NVTX ranges around the launch: the push/pop stack of its thread, outermost first, by domain, then the
    /// start/end ranges that were open. Empty without `--nvtx`.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/torch_nvtx.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// let ranges = report.launch(1).unwrap().nvtx()?;
    /// let names: Vec<&str> = ranges.iter().map(|range| range.name.as_ref()).collect();
    /// assert_eq!(names, ["outer", "inner", "start_end"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged state.
    pub fn nvtx(&self) -> Result<Vec<NvtxRange<'r>>, ReportError> {
        nvtx::ranges(Message::new("NvtxState", self.index.data(), self.head.nvtx), self.head.thread)
    }

    /// Results of ncu's rules. Empty with only `--metrics`: rules belong to sections.
    ///
    /// ```
    /// # fn main() -> Result<(), ncu_rep::ReportError> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
    /// # let report = ncu_rep::Report::open(path)?;
    /// for rule in report.launch(0).unwrap().rule_results()? {
    ///     for item in &rule.items {
    ///         if let (Some(message), Some(speedup)) = (&item.message, &item.speedup) {
    ///             println!("{}: {} (up to {:.0} %)", rule.name, message.plain_text(), speedup.percent);
    ///         }
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A damaged rule result.
    pub fn rule_results(&self) -> Result<Vec<RuleResult<'r>>, ReportError> {
        self.fields(self.head.kind.layout().rules).map(|field| rule::decode(field?.message("RuleResult")?)).collect()
    }

    /// References of the source entries ([`SourceModule::reference`](crate::SourceModule::reference)) of the launch.
    ///
    /// # Errors
    /// A damaged result.
    pub fn source_references(&self) -> Result<Vec<u64>, ReportError> {
        let mut references = Vec::new();
        for field in self.fields(self.head.kind.layout().sources) {
            let field = field?;
            if self.head.kind == ResultKind::Kernel {
                for part in field.message("SourceData")?.fields() {
                    let part = part?;
                    if part.number == source::REFERENCE {
                        references.push(part.integer()?);
                    }
                }
            } else {
                field.integers(&mut references)?;
            }
        }
        Ok(references)
    }

    /// The fields with `number`, in order.
    fn fields(&self, number: u32) -> impl Iterator<Item = Result<Field<'r>, ReportError>> {
        Message::new(self.head.kind.layout().name, self.index.data(), self.head.body)
            .fields()
            .filter(move |field| field.as_ref().map_or(true, |field| field.number == number))
    }
}
