//! dropline
