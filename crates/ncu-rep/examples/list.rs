//! Lists the launches of a report, or the metrics of one: `list REPORT [ID]`.

use std::error::Error;
use std::io::{self, Write};

use ncu_rep::{Launch, MetricValue, Report};

/// Writes a launch in one line.
fn write_launch(launch: &Launch<'_>, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let duration = launch.metric("gpu__time_duration.sum")?.and_then(|value| value.as_f64());
    let duration = duration.map_or_else(|| "-".to_owned(), |nanoseconds| format!("{:.1} us", nanoseconds / 1e3));
    writeln!(out, "{:>5}  {duration:>12}  {}", launch.id(), launch.demangled_name())?;
    Ok(())
}

/// Writes every metric of a launch that has a value.
fn write_metrics(launch: &Launch<'_>, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    for metric in launch.metrics() {
        let metric = metric?;
        if metric.value != MetricValue::Missing {
            writeln!(out, "{} = {} {}", metric.name, metric.value, metric.unit())?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let report = Report::open(arguments.next().ok_or("usage: list REPORT [ID]")?)?;
    let mut out = io::stdout().lock();
    match arguments.next() {
        Some(id) => {
            let launch = report.launch(id.parse()?).ok_or("the report has no launch with this id")?;
            write_metrics(&launch, &mut out)
        }
        None => report.launches().try_for_each(|launch| write_launch(&launch, &mut out)),
    }
}
