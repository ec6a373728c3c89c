//! The passes that read labels, each byte once.
//!
//! [`counts`](crate::stages::CountStage::counts) reads tiles and keeps only counters. [`planes`](scan_planes) packs
//! every slice into bit planes, counts, and hands a window of three packed slices to a visitor: what surfaces,
//! components and skeletons are made from, without a volume-sized intermediate.

mod counts;
mod diagnose;
mod instances;
mod packed;
mod pair;
mod planes;
mod regions;
pub(crate) mod tally;

pub(crate) use diagnose::diagnose;
pub use instances::{InstanceTables, Instances, instance_tables};
pub use packed::PackedSlice;
pub use pair::visit_pair;
pub(crate) use planes::read_slices;
pub use planes::{SliceVisitor, Visited, Window, scan_planes};
pub use regions::{region_channels, write_region_channels};
