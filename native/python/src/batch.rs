//! Records for Python: columns are read through the buffer protocol, nothing is copied.

use std::ffi::{c_int, c_void, CStr};
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use telemark_engine::records::{self, Values};

/// Some finished rows of one record table.
#[pyclass(frozen, module = "telemark._native")]
pub struct Batch {
    pub batch: records::Batch,
}

impl From<records::Batch> for Batch {
    fn from(batch: records::Batch) -> Batch {
        Batch { batch }
    }
}

#[pymethods]
impl Batch {
    #[getter]
    fn table(&self) -> &'static str {
        self.batch.table
    }

    #[getter]
    fn rows(&self) -> usize {
        self.batch.rows
    }

    fn columns(&self) -> Vec<Column> {
        let column = |column| Column {
            column: Arc::new(column),
            is_validity: false,
        };
        self.batch.columns().into_iter().map(column).collect()
    }
}

/// One column, or the validity bitmap of one.
#[pyclass(frozen, module = "telemark._native")]
pub struct Column {
    column: Arc<records::Column>,
    is_validity: bool,
}

/// The memory of a column as the buffer protocol describes it.
struct Memory {
    pointer: *const c_void,
    items: usize,
    item_size: usize,
    format: &'static CStr,
}

impl Memory {
    fn of<T>(values: &[T], format: &'static CStr) -> Memory {
        let item_size = std::mem::size_of::<T>();
        Memory {
            pointer: values.as_ptr().cast(),
            items: values.len(),
            item_size,
            format,
        }
    }
}

impl Column {
    fn memory(&self) -> Option<Memory> {
        if self.is_validity {
            return self.column.valid.as_ref().map(|valid| Memory::of(valid.bytes(), c"B"));
        }
        match &self.column.values {
            Values::Int8(values) => Some(Memory::of(values, c"b")),
            Values::Int16(values) => Some(Memory::of(values, c"h")),
            Values::Int32(values) => Some(Memory::of(values, c"i")),
            Values::Int64(values) => Some(Memory::of(values, c"q")),
            Values::Bool(values) => Some(Memory::of(values.bytes(), c"B")),
            Values::Text(_) => None,
        }
    }
}

#[pymethods]
impl Column {
    #[getter]
    fn name(&self) -> &'static str {
        self.column.name
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match &self.column.values {
            _ if self.is_validity => "int8",
            Values::Int8(_) => "int8",
            Values::Int16(_) => "int16",
            Values::Int32(_) => "int32",
            Values::Int64(_) => "int64",
            Values::Bool(_) => "bool",
            Values::Text(_) => "string",
        }
    }

    fn values(&self) -> PyResult<Vec<&str>> {
        match &self.column.values {
            Values::Text(texts) => Ok(texts.iter().map(AsRef::as_ref).collect()),
            _ => Err(PyTypeError::new_err(
                "values() is for string columns; read others through the buffer protocol",
            )),
        }
    }

    #[getter]
    fn valid(&self) -> Option<Column> {
        let has_nulls = !self.is_validity && self.column.valid.is_some();
        has_nulls.then(|| Column {
            column: Arc::clone(&self.column),
            is_validity: true,
        })
    }

    fn __len__(&self) -> usize {
        match &self.column.valid {
            Some(valid) if self.is_validity => valid.bytes().len(),
            _ => self.column.rows,
        }
    }

    /// Describes the column's memory; the view keeps the column alive.
    ///
    /// # Safety
    /// Called by Python only, with a view that it owns.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        // SAFETY: the view is a valid Py_buffer of the caller; an error must leave its owner empty.
        unsafe { (*view).obj = std::ptr::null_mut() };
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("records are read-only"));
        }
        let memory = slf
            .get()
            .memory()
            .ok_or_else(|| PyBufferError::new_err("a string column has no buffer: use values()"))?;
        let shape = Box::into_raw(Box::new([memory.items as isize, memory.item_size as isize]));
        // SAFETY: as above. Shape and stride live in a box that __releasebuffer__ frees; the memory belongs to the
        // column, which the view owns from here on.
        unsafe {
            (*view).buf = memory.pointer.cast_mut();
            (*view).len = (memory.items * memory.item_size) as isize;
            (*view).readonly = 1;
            (*view).itemsize = memory.item_size as isize;
            (*view).format = if flags & ffi::PyBUF_FORMAT != 0 {
                memory.format.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).ndim = 1;
            (*view).shape = shape.cast();
            (*view).strides = shape.cast::<isize>().add(1);
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = shape.cast();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Frees what __getbuffer__ made.
    ///
    /// # Safety
    /// Called by Python only, once for each view.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the box that __getbuffer__ leaked into this view.
        unsafe { drop(Box::from_raw((*view).internal.cast::<[isize; 2]>())) };
    }
}
