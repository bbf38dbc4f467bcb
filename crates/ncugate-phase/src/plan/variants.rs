//! A plan and its variants.

use super::program::{KernelPlan, ShapeProgram};
use crate::config::LaunchPattern;
use ncugate_model::expr::Value;
use ncugate_model::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The role of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VariantRole {
    /// It can be selected, and gates apply to it.
    Candidate,
    /// Candidates are compared with it; it is never selected.
    Baseline,
}

/// One way to compute the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Stable id.
    pub id: VariantId,
    pub standing: VariantRole,
    /// Parameters with their values, in the order of the sweep.
    pub params: Vec<(String, Value)>,
    pub method: Method,
}

/// The implementation of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A kernel that ncugate builds and launches.
    Kernel(KernelPlan),
    /// A function over the workload's buffers, called by the worker.
    Function(FunctionPlan),
    /// A program that computes, checks and times by itself.
    Command(CommandPlan),
    /// Launches of ncu reports from another program.
    Captured(LaunchPattern),
}

impl Variant {
    /// Why the phase does not launch the variant at a shape: its `where` does not hold there. `None` if it is launched.
    pub fn left_out_at(&self, shape: &ShapeName) -> Option<&str> {
        let program = self.method.programs().iter().find(|program| program.shape == *shape)?;
        program.left_out.as_deref()
    }

    /// Whether `where` excludes a shape.
    pub fn is_conditional(&self) -> bool {
        self.method.programs().iter().any(|program| program.left_out.is_some())
    }
}

impl Method {
    /// One program per shape; empty if ncugate does not build the variant.
    fn programs(&self) -> &[ShapeProgram] {
        match self {
            Self::Kernel(kernel) => &kernel.programs,
            Self::Function(FunctionPlan { host: Some(host), .. }) => &host.programs,
            Self::Function(_) | Self::Command(_) | Self::Captured(_) => &[],
        }
    }

    /// The kernel, if it is one.
    pub fn kernel(&self) -> Option<&KernelPlan> {
        if let Self::Kernel(kernel) = self { Some(kernel) } else { None }
    }

    /// Whether ncugate builds the variant.
    pub const fn is_built(&self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Function(FunctionPlan { host: Some(_), .. }))
    }

    /// The flags of nvcc; none if it does not compile the variant.
    pub fn flags(&self) -> &[String] {
        match self {
            Self::Kernel(kernel) => &kernel.flags,
            Self::Function(FunctionPlan { host: Some(host), .. }) => &host.flags,
            Self::Function(_) | Self::Command(_) | Self::Captured(_) => &[],
        }
    }
}

/// A Python function, whose parameters are the variant's, or host code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionPlan {
    pub file: PathBuf,
    pub function: String,
    /// Regular expression of the kernels to count.
    pub kernel_filter: Option<String>,
    /// Its build and its calls, if it is C++.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostCode>,
}

impl FunctionPlan {
    /// Its kind, in words.
    pub const fn kind(&self) -> &'static str {
        if self.host.is_some() { "host function" } else { "Python function" }
    }
}

/// The build and the calls of a C++ host function that launches kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCode {
    /// nvcc flags, rendered.
    pub flags: Vec<String>,
    /// `-D` defines.
    pub defines: Vec<(String, String)>,
    /// One program per shape. Its only step has the arguments of the call.
    pub programs: Vec<ShapeProgram>,
}

/// A program and its arguments, rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    pub argv: Vec<String>,
    /// Regular expression of the kernels to count.
    pub kernel_filter: Option<String>,
}

/// Every variant of a phase: candidates in sweep order, then named candidates, then baselines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub variants: Vec<Variant>,
}

impl Plan {
    pub fn variant(&self, id: &VariantId) -> Option<&Variant> {
        self.variants.iter().find(|v| &v.id == id)
    }

    pub fn candidates(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|v| v.standing == VariantRole::Candidate)
    }

    pub fn kernels(&self) -> impl Iterator<Item = (&VariantId, &KernelPlan)> {
        self.variants.iter().filter_map(|variant| Some((&variant.id, variant.method.kernel()?)))
    }

    pub fn commands(&self) -> impl Iterator<Item = (&VariantId, &CommandPlan)> {
        self.variants.iter().filter_map(|variant| match &variant.method {
            Method::Kernel(_) | Method::Function(_) | Method::Captured(_) => None,
            Method::Command(command) => Some((&variant.id, command)),
        })
    }

    /// The baselines.
    pub fn baselines(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|v| v.standing == VariantRole::Baseline)
    }
}
