//! The session that created a report. Blocks contain parts of it, which are merged as in protobuf.

use crate::error::ReportError;
use crate::schema::{device_attribute, device_attributes, ip_address, session as fields, system_info, version_info};
use crate::value::{self, MetricValue};
use crate::wire::{Field, Message};

/// A machine of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemInfo {
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
    /// The versioned component: `CUDA Version`, `PerfWorks`, `Nsight Compute Target`.
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
    /// Creation time of the report, in seconds since 1970; `None` when the report does not contain it.
    pub created: Option<u64>,
    /// Machine that ran ncu.
    pub host: SystemInfo,
    /// Machine that ran the program.
    pub target: SystemInfo,
    /// Devices.
    pub devices: Vec<Device>,
    /// Comments.
    pub comments: String,
    /// Versions of the tools.
    pub versions: Vec<ToolVersion>,
    /// The command line of ncu, as one string.
    pub command_line: String,
    /// Version of the kernel-mode driver, from the launches. The report stores a float, so 580.159.04 reads 580.159.
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

    /// The value of an option on the command line, given as `--option value` or `--option=value`. ncu stores its
    /// settings only as the command line.
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

    /// Clock control according to the command line; `None` means the default of the version.
    #[must_use]
    pub fn clock_control(&self) -> Option<&str> {
        self.option("--clock-control")
    }

    /// Replay mode according to the command line; `None` means ncu's default, `kernel`.
    #[must_use]
    pub fn replay_mode(&self) -> Option<&str> {
        self.option("--replay-mode")
    }
}

/// Merges the parts of a session: scalars of later parts win, lists are concatenated.
pub(crate) fn merge<'a>(parts: impl Iterator<Item = Message<'a>>, driver: Option<f32>) -> Result<Session, ReportError> {
    let mut session = Session { driver, ..Session::default() };
    for part in parts {
        for field in part.fields() {
            let field = field?;
            match field.number {
                fields::CREATED => session.created = Some(field.integer()?).filter(|&seconds| seconds > 0),
                fields::HOST => system(&mut session.host, &field)?,
                fields::TARGET => system(&mut session.target, &field)?,
                fields::DEVICE => session.devices.push(device(&field)?),
                fields::COMMENTS => session.comments = field.text()?.into_owned(),
                fields::VERSION => session.versions.push(version(&field)?),
                fields::COMMAND_LINE => session.command_line = field.text()?.trim_end().to_owned(),
                _ => {}
            }
        }
    }
    Ok(session)
}

fn system(system: &mut SystemInfo, field: &Field<'_>) -> Result<(), ReportError> {
    for part in field.message("SystemInfo")?.fields() {
        let part = part?;
        let slot = match part.number {
            system_info::OS => &mut system.os,
            system_info::BUILD => &mut system.build,
            system_info::CPU => &mut system.cpu,
            system_info::ARCHITECTURE => &mut system.architecture,
            system_info::COMPUTER => &mut system.computer,
            system_info::ADDRESS => {
                for address in part.message("IpAddress")?.fields() {
                    let address = address?;
                    if address.number == ip_address::TEXT {
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
            version_info::PROVIDER => version.provider = part.text()?.into_owned(),
            version_info::VERSION => version.version = part.text()?.into_owned(),
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
            device_attributes::ID => device.id = part.integer()?,
            device_attributes::NAME => device.name = part.text()?.into_owned(),
            device_attributes::ATTRIBUTE => device.attributes.push(attribute(&part)?),
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
            device_attribute::NAME => name = part.text()?.into_owned(),
            device_attribute::VALUE => value = value::decode(part.message("ProfileMetricValue")?)?.into_owned(),
            _ => {}
        }
    }
    Ok((name, value))
}
