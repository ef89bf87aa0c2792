//! The structures of Arrow's C interface. Who makes one owns what it points to, until its `release` is called by whoever has it last.

#![allow(unsafe_code)]

use crate::laid::Laid;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A value may be absent.
const NULLABLE: i64 = 2;

/// `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// `struct ArrowArrayStream`: a reader that takes it copies it and clears its `release`.
#[repr(C)]
pub struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

/// What a stream's `private` points to.
struct Source {
    table: Arc<Table>,
    is_read: bool,
}

struct Table {
    rows: usize,
    columns: Vec<Laid>,
}

/// What a schema's `private` points to.
struct HeldSchema {
    name: CString,
    children: Vec<*mut Schema>,
}

/// What an array's `private` points to.
struct HeldArray {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    /// Keeps alive what `buffers` point to.
    _table: Arc<Table>,
}

// SAFETY: what it points to is a `Source` that nothing else points to; its table is shared, is `Sync`, and never changes.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody took it, so it is still the owner of its source.
            unsafe { release(self) };
        }
    }
}

impl Stream {
    pub(crate) fn new(rows: usize, columns: Vec<Laid>) -> Self {
        let source = Source { table: Arc::new(Table { rows, columns }), is_read: false };
        Self {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private: Box::into_raw(Box::new(source)).cast(),
        }
    }
}

impl Schema {
    fn new(format: &'static CStr, name: &str, flags: i64, children: Vec<Self>) -> Self {
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        // A name with a zero byte in it would end there.
        let name = CString::new(name.replace('\0', "")).expect("zero bytes were taken out");
        let held = Box::leak(Box::new(HeldSchema { name, children }));
        Self {
            format: format.as_ptr(),
            name: held.name.as_ptr(),
            metadata: null(),
            flags,
            n_children: held.children.len() as i64,
            children: held.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private: std::ptr::from_mut(held).cast(),
        }
    }
}

impl Array {
    fn new(table: &Arc<Table>, absent: usize, buffers: Vec<*const c_void>, children: Vec<Self>) -> Self {
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let held = Box::leak(Box::new(HeldArray { buffers, children, _table: Arc::clone(table) }));
        Self {
            length: table.rows as i64,
            null_count: absent as i64,
            offset: 0,
            n_buffers: held.buffers.len() as i64,
            n_children: held.children.len() as i64,
            buffers: held.buffers.as_ptr(),
            children: held.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_array),
            private: std::ptr::from_mut(held).cast(),
        }
    }

    /// The one that says that no batch follows.
    fn none() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private: null_mut(),
        }
    }
}

/// # Safety
/// `stream` is one of [`Stream::new`] that was not released; the caller may write to `schema`.
unsafe extern "C" fn get_schema(stream: *mut Stream, schema: *mut Schema) -> c_int {
    // SAFETY: as the caller promises; `private` is a `Source` until `release`.
    let source = unsafe { &*(*stream).private.cast::<Source>() };
    let column = |laid: &Laid| Schema::new(laid.format, &laid.name, NULLABLE, Vec::new());
    let columns = source.table.columns.iter().map(column).collect();
    // SAFETY: the caller may write to it, and there is nothing in it yet.
    unsafe { schema.write(Schema::new(c"+s", "", 0, columns)) };
    0
}

/// # Safety
/// `stream` is one of [`Stream::new`] that was not released; the caller may write to `array`.
unsafe extern "C" fn get_next(stream: *mut Stream, array: *mut Array) -> c_int {
    // SAFETY: as the caller promises; `private` is a `Source` until `release`, and a stream is read by one thread.
    let source = unsafe { &mut *(*stream).private.cast::<Source>() };
    let next = if std::mem::replace(&mut source.is_read, true) {
        Array::none()
    } else {
        let table = &source.table;
        let column = |laid: &Laid| {
            let buffers = laid.buffers.iter().map(|buffer| buffer.0.as_ptr().cast()).collect();
            Array::new(table, laid.absent, buffers, Vec::new())
        };
        // Of the table itself no row is absent.
        Array::new(table, 0, vec![null()], table.columns.iter().map(column).collect())
    };
    // SAFETY: the caller may write to it, and there is nothing in it yet.
    unsafe { array.write(next) };
    0
}

/// # Safety
/// None is needed: nothing fails.
unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    null()
}

/// # Safety
/// `stream` is one of [`Stream::new`] that was not released.
unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: as the caller promises, so `private` is what `Box::into_raw` gave; nobody reads it afterwards.
    unsafe {
        drop(Box::from_raw((*stream).private.cast::<Source>()));
        (*stream).release = None;
    }
}

/// # Safety
/// `schema` is one of [`Schema::new`] that was not released.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: as the caller promises, so `private` and the children are what boxes were.
    unsafe {
        release_all(Box::from_raw((*schema).private.cast::<HeldSchema>()).children, |child| child.release);
        (*schema).release = None;
    }
}

/// # Safety
/// `array` is one of [`Array::new`] that was not released.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as the caller promises, so `private` and the children are what boxes were.
    unsafe {
        release_all(Box::from_raw((*array).private.cast::<HeldArray>()).children, |child| child.release);
        (*array).release = None;
    }
}

/// # Safety
/// Each child is what a box was, and nobody else frees it; one whose `release` is gone was taken.
unsafe fn release_all<T>(children: Vec<*mut T>, release: fn(&T) -> Option<unsafe extern "C" fn(*mut T)>) {
    for child in children {
        // SAFETY: as the caller promises.
        let mut child = unsafe { Box::from_raw(child) };
        if let Some(release) = release(&child) {
            // SAFETY: it is the one that was made with the child, which was not released.
            unsafe { release(&raw mut *child) };
        }
    }
}
