//! A plan and its variants.

use super::program::{KernelCode, KernelPlan};
use crate::config::LaunchPattern;
use ncugate_model::VariantId;
use ncugate_model::expr::Value;
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
    /// A Python function over the workload's buffers, called by the worker.
    Function(FunctionPlan),
    /// A program that computes, checks and times by itself.
    Command(CommandPlan),
    /// Launches of ncu reports from another program.
    Captured(LaunchPattern),
}

/// A Python function; its parameters are the variant's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionPlan {
    pub file: PathBuf,
    pub function: String,
    /// Regular expression of the kernels to count.
    pub kernel_filter: Option<String>,
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
        self.variants.iter().filter_map(|variant| match &variant.method {
            Method::Kernel(kernel) => Some((&variant.id, kernel)),
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        })
    }

    pub fn python_kernels(&self) -> impl Iterator<Item = (&VariantId, &KernelPlan)> {
        self.kernels().filter(|(_, kernel)| matches!(kernel.code, KernelCode::Python(_)))
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
