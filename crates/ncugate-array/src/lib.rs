//! Elements of arrays in bulk: encoding and decoding of every dtype, random values and their laws, dense algebra,
//! reductions, the arithmetic of a softmax, NumPy's files, comparison with a reference.
//!
//! Inputs and outputs have millions of elements, so every profile optimises this crate. Code that visits each element
//! belongs here.
//!
//! Deliberately absent: buffers, shapes, references, the GPU.

pub mod arithmetic;
pub mod compare;
pub mod dense;
pub mod element;
pub mod generator;
pub mod laws;
pub mod minifloat;
pub mod npy;
pub mod reduction;
pub mod structured;
pub mod vector;
