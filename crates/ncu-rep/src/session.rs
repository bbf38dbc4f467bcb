//! What a report says about the session that made it. Blocks hold parts of it, which are merged as protobuf does.

use super::error::ReportError;
use super::metric::{self, MetricValue};
use super::wire::{Field, Message};

/// A machine that took part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// Operating system.
    pub os: String,
    /// Build of the operating system.
    pub build: String,
    /// Processor.
    pub cpu: String,
    /// Architecture.
    pub architecture: String,
    /// Name of the computer.
    pub computer: String,
    /// Network addresses.
    pub addresses: Vec<String>,
}

/// Version of one tool or library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolVersion {
    /// What it is the version of: `CUDA Version`, `PerfWorks`, `Nsight Compute Target`.
    pub provider: String,
    /// The version.
    pub version: String,
}

/// One device and its attributes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Device {
    /// Index of the device.
    pub id: u64,
    /// Name of the device.
    pub name: String,
    /// Attributes by name, in the report's order.
    pub attributes: Vec<(String, MetricValue<'static>)>,
}

/// The session of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// When the report was made, in seconds since 1970; 0 when it does not say.
    pub created: u64,
    /// Machine that ran ncu.
    pub host: System,
    /// Machine that ran the program.
    pub target: System,
    /// Devices.
    pub devices: Vec<Device>,
    /// Comments.
    pub comments: String,
    /// Versions of the tools.
    pub versions: Vec<ToolVersion>,
    /// The command line of ncu, as one string.
    pub command_line: String,
    /// Version of the kernel-mode driver, as the launches have it: a float, so 580.159.04 reads 580.159.
    pub driver: Option<f32>,
}

impl Session {
    /// Version of a tool by its provider.
    #[must_use]
    pub fn version(&self, provider: &str) -> Option<&str> {
        self.versions.iter().find(|version| version.provider == provider).map(|version| version.version.as_str())
    }

    /// Version of Nsight Compute: `2025.3.1.0 (build 36398880) (public-release)`.
    #[must_use]
    pub fn ncu_version(&self) -> Option<&str> {
        self.version("Nsight Compute Target")
    }

    /// The value that an option has on the command line, given as `--option value` or `--option=value`.
    /// ncu stores no settings but its command line.
    #[must_use]
    pub fn option(&self, option: &str) -> Option<&str> {
        let mut words = self.command_line.split_whitespace();
        while let Some(word) = words.next() {
            match word.strip_prefix(option) {
                Some("") => return words.next(),
                Some(rest) if rest.starts_with('=') => return rest.get(1..),
                _ => {}
            }
        }
        None
    }

    /// How the clocks were controlled, as the command line says; `None` leaves it to the version's default.
    #[must_use]
    pub fn clock_control(&self) -> Option<&str> {
        self.option("--clock-control")
    }

    /// How launches were replayed, as the command line says; `None` is ncu's default, `kernel`.
    #[must_use]
    pub fn replay_mode(&self) -> Option<&str> {
        self.option("--replay-mode")
    }
}

/// Merges the parts of a session: scalars of later parts win, lists grow.
pub(crate) fn merge<'a>(parts: impl Iterator<Item = Message<'a>>, driver: Option<f32>) -> Result<Session, ReportError> {
    let mut session = Session { driver, ..Session::default() };
    for part in parts {
        for field in part.fields() {
            let field = field?;
            match field.number {
                2 => session.created = field.integer()?,
                3 => system(&mut session.host, &field)?,
                4 => system(&mut session.target, &field)?,
                6 => session.devices.push(device(&field)?),
                7 => session.comments = field.text()?.into_owned(),
                8 => session.versions.push(version(&field)?),
                11 => session.command_line = field.text()?.trim_end().to_owned(),
                _ => {}
            }
        }
    }
    Ok(session)
}

fn system(system: &mut System, field: &Field<'_>) -> Result<(), ReportError> {
    for part in field.message("SystemInfo")?.fields() {
        let part = part?;
        let slot = match part.number {
            1 => &mut system.os,
            2 => &mut system.build,
            3 => &mut system.cpu,
            4 => &mut system.architecture,
            5 => &mut system.computer,
            7 => {
                for address in part.message("IpAddress")?.fields() {
                    let address = address?;
                    if address.number == 1 {
                        system.addresses.push(address.text()?.into_owned());
                    }
                }
                continue;
            }
            _ => continue,
        };
        *slot = part.text()?.into_owned();
    }
    Ok(())
}

fn version(field: &Field<'_>) -> Result<ToolVersion, ReportError> {
    let mut version = ToolVersion::default();
    for part in field.message("VersionInfo")?.fields() {
        let part = part?;
        match part.number {
            1 => version.provider = part.text()?.into_owned(),
            2 => version.version = part.text()?.into_owned(),
            _ => {}
        }
    }
    Ok(version)
}

fn device(field: &Field<'_>) -> Result<Device, ReportError> {
    let mut device = Device::default();
    for part in field.message("DeviceAttributes")?.fields() {
        let part = part?;
        match part.number {
            1 => device.id = part.integer()?,
            2 => device.name = part.text()?.into_owned(),
            3 => device.attributes.push(attribute(&part)?),
            _ => {}
        }
    }
    Ok(device)
}

fn attribute(field: &Field<'_>) -> Result<(String, MetricValue<'static>), ReportError> {
    let (mut name, mut value) = (String::new(), MetricValue::Missing);
    for part in field.message("DeviceAttribute")?.fields() {
        let part = part?;
        match part.number {
            1 => name = part.text()?.into_owned(),
            2 => value = metric::value(part.message("ProfileMetricValue")?)?.into_owned(),
            _ => {}
        }
    }
    Ok((name, value))
}
