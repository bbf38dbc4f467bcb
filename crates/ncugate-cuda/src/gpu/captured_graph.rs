//! A graph as it was captured, before it is made executable: as a whole, or node by node.

use super::error::{DeviceError, cuda};
use super::kernel::ExecutableGraph;
use cudarc::driver::{result, sys};

/// A captured graph.
#[derive(Debug)]
pub(super) struct CapturedGraph(pub(super) sys::CUgraph);

/// A node of a captured graph as an executable graph.
#[derive(Debug)]
pub struct GraphStep {
    pub graph: ExecutableGraph,
    pub work: StepWork,
}

/// The work of a node of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepWork {
    /// A kernel, or a graph of kernels, which a profiler counts.
    Kernels,
    /// A cooperative launch, which takes the device longer to start.
    CooperativeKernel,
    /// A copy, a fill, or nothing on the device.
    Other,
}

impl CapturedGraph {
    /// The whole graph.
    ///
    /// # Errors
    /// The driver refuses.
    pub(super) fn executable(&self) -> Result<ExecutableGraph, DeviceError> {
        // SAFETY: the graph lives as long as `self`; an executable graph does not need it.
        let exec = unsafe { result::graph::instantiate(self.0, sys::CUgraphInstantiate_flags(0)) };
        exec.map(|exec| ExecutableGraph { exec, deliveries: Vec::new() }).map_err(cuda("cuGraphInstantiate"))
    }

    /// Groups of `width` copies side by side, one group after the other.
    ///
    /// # Errors
    /// The driver refuses.
    pub(super) fn side_by_side(graphs: &[Self], groups: usize) -> Result<ExecutableGraph, DeviceError> {
        let mut whole = std::ptr::null_mut();
        // SAFETY: the graph is written on success.
        unsafe { sys::cuGraphCreate(&raw mut whole, 0) }.result().map_err(cuda("cuGraphCreate"))?;
        let whole = Self(whole);
        let mut before: Vec<sys::CUgraphNode> = Vec::new();
        for _ in 0..groups {
            let add = |graph: &Self| {
                let mut node = std::ptr::null_mut();
                // SAFETY: the graphs live, and the nodes before are nodes of the whole; the graph is copied into it.
                unsafe {
                    sys::cuGraphAddChildGraphNode(&raw mut node, whole.0, before.as_ptr(), before.len(), graph.0)
                }
                .result()
                .map_err(cuda("cuGraphAddChildGraphNode"))?;
                Ok(node)
            };
            before = graphs.iter().map(add).collect::<Result<_, DeviceError>>()?;
        }
        whole.executable()
    }

    /// Its nodes in the order in which they were captured, which no dependency contradicts. A graph that cannot be copied,
    /// because it allocates memory, is one step.
    ///
    /// # Errors
    /// The driver refuses.
    pub(super) fn steps(&self) -> Result<Vec<GraphStep>, DeviceError> {
        let nodes = self.nodes()?;
        let step = |node: &sys::CUgraphNode| {
            let Some(copy) = self.copy()? else { return Ok(None) };
            for other in nodes.iter().filter(|other| *other != node) {
                let mut copied = std::ptr::null_mut();
                // SAFETY: `other` is a node of the graph, and `copy` its copy, whose node is destroyed once.
                unsafe {
                    sys::cuGraphNodeFindInClone(&raw mut copied, *other, copy.0)
                        .result()
                        .map_err(cuda("cuGraphClone"))?;
                    sys::cuGraphDestroyNode(copied).result().map_err(cuda("cuGraphDestroyNode"))?;
                }
            }
            Ok(Some(GraphStep { graph: copy.executable()?, work: work(*node)? }))
        };
        let steps = nodes.iter().map(step).collect::<Result<Option<Vec<_>>, DeviceError>>()?;
        match steps {
            Some(steps) => Ok(steps),
            None => Ok(vec![GraphStep { graph: self.executable()?, work: StepWork::Kernels }]),
        }
    }

    fn nodes(&self) -> Result<Vec<sys::CUgraphNode>, DeviceError> {
        let mut count = 0;
        // SAFETY: without a place for the nodes, only their number is written; then there is room for that many.
        unsafe {
            let get = |nodes, count: *mut usize| sys::cuGraphGetNodes(self.0, nodes, count).result();
            get(std::ptr::null_mut(), &raw mut count).map_err(cuda("cuGraphGetNodes"))?;
            let mut nodes = vec![std::ptr::null_mut(); count];
            get(nodes.as_mut_ptr(), &raw mut count).map_err(cuda("cuGraphGetNodes"))?;
            nodes.truncate(count);
            Ok(nodes)
        }
    }

    /// A copy; `None` if the driver cannot copy graphs with such nodes.
    fn copy(&self) -> Result<Option<Self>, DeviceError> {
        let mut copy = std::ptr::null_mut();
        // SAFETY: the graph lives, and the copy is written on success.
        match unsafe { sys::cuGraphClone(&raw mut copy, self.0) } {
            sys::CUresult::CUDA_SUCCESS => Ok(Some(Self(copy))),
            sys::CUresult::CUDA_ERROR_NOT_SUPPORTED => Ok(None),
            refused => Err(cuda("cuGraphClone")(result::DriverError(refused))),
        }
    }
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // SAFETY: captured or copied, and destroyed once.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

fn work(node: sys::CUgraphNode) -> Result<StepWork, DeviceError> {
    use sys::CUgraphNodeType as Type;
    let mut kind = Type::CU_GRAPH_NODE_TYPE_EMPTY;
    // SAFETY: the node lives, and its type is written.
    unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) }.result().map_err(cuda("cuGraphNodeGetType"))?;
    Ok(match kind {
        Type::CU_GRAPH_NODE_TYPE_KERNEL if is_cooperative(node)? => StepWork::CooperativeKernel,
        Type::CU_GRAPH_NODE_TYPE_KERNEL | Type::CU_GRAPH_NODE_TYPE_GRAPH | Type::CU_GRAPH_NODE_TYPE_CONDITIONAL => {
            StepWork::Kernels
        }
        _ => StepWork::Other,
    })
}

fn is_cooperative(node: sys::CUgraphNode) -> Result<bool, DeviceError> {
    let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    // SAFETY: the node is a kernel and lives; the driver writes the member of the value that is read.
    unsafe {
        let mut value: sys::CUlaunchAttributeValue = std::mem::zeroed();
        sys::cuGraphKernelNodeGetAttribute(node, id, &raw mut value)
            .result()
            .map_err(cuda("cuGraphKernelNodeGetAttribute"))?;
        Ok(value.cooperative != 0)
    }
}
