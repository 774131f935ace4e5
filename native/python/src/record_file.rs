//! `RecordFile` for Python: batches of numbers go to Parquet without becoming Python objects.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use telemark_engine::parquet;

use crate::batch::Batch;
use crate::errors::IntoPython;

/// A Parquet file of one table whose columns are all numbers.
#[pyclass(frozen, module = "telemark._native")]
pub struct RecordFile {
    path: PathBuf,
    file: Mutex<Option<parquet::RecordFile>>,
}

impl RecordFile {
    fn add(&self, batch: &Batch) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(parquet::RecordFile::create(&self.path, &batch.batch)?);
        }
        file.as_mut().map_or(Ok(()), |file| file.write(&batch.batch))
    }
}

#[pymethods]
impl RecordFile {
    #[new]
    fn new(path: PathBuf) -> RecordFile {
        RecordFile {
            path,
            file: Mutex::default(),
        }
    }

    fn write(&self, python: Python<'_>, batch: &Batch) -> PyResult<()> {
        if batch.batch.numbers().is_empty() {
            return Err(PyValueError::new_err(format!(
                "{}: not all columns are numbers",
                batch.batch.table
            )));
        }
        python.detach(|| self.add(batch)).map_err(IntoPython::into_python)
    }

    fn close(&self, python: Python<'_>) -> PyResult<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let close = || file.map_or(Ok(()), parquet::RecordFile::close);
        python.detach(close).map_err(IntoPython::into_python)
    }
}
