//! Lists the launches of a report, or the metrics of one: `list REPORT [ID]`.

#![expect(clippy::print_stdout, reason = "the list is its output")]

use std::error::Error;

use ncu_rep::{Launch, MetricValue, Report};

/// Prints a launch in one line.
fn print_launch(launch: &Launch<'_>) -> Result<(), Box<dyn Error>> {
    let duration = launch.metric("gpu__time_duration.sum")?.and_then(|value| value.as_f64());
    let duration = duration.map_or_else(|| "-".to_owned(), |nanoseconds| format!("{:.1} us", nanoseconds / 1e3));
    println!("{:>5}  {duration:>12}  {}", launch.id(), launch.demangled_name());
    Ok(())
}

/// Prints every metric of a launch that has a value.
fn print_metrics(launch: &Launch<'_>) -> Result<(), Box<dyn Error>> {
    for metric in launch.metrics() {
        let metric = metric?;
        if metric.value != MetricValue::Missing {
            println!("{} = {} {}", metric.name, metric.value, metric.unit());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let report = Report::open(arguments.next().ok_or("usage: list REPORT [ID]")?)?;
    match arguments.next() {
        Some(id) => print_metrics(&report.launch(id.parse()?).ok_or("the report has no launch with this id")?),
        None => report.launches().try_for_each(|launch| print_launch(&launch)),
    }
}
