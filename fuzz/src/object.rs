//! Object files of any compiler.

use dropline_experiments::heartbeat_cost::object::Object;

/// Sections that are read have sums, and symbols that are asked for stand in order.
pub fn check(bytes: &[u8]) {
    let Ok(object) = Object::read(bytes) else { return };
    let _ = (object.flash(), object.ram(), object.unwinding());
    assert!(object.sections.iter().all(|section| section.bytes > 0));
    assert!(object.undefined.is_sorted());
}
