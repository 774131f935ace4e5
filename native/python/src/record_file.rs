//! `RecordFile` for Python: batches go to Parquet without becoming Python objects.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use telemark_engine::parquet;
use telemark_engine::records;

use crate::batch::Batch;
use crate::errors::IntoPython;

/// A Parquet file of one table of the engine.
#[pyclass(frozen, module = "telemark._native")]
pub struct RecordFile {
    path: PathBuf,
    file: Mutex<Option<parquet::RecordFile>>,
}

impl RecordFile {
    fn add(&self, batch: &records::Batch) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(parquet::RecordFile::create(&self.path, batch.fields())?);
        }
        file.as_mut().map_or(Ok(()), |file| file.write(batch))
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
        python
            .detach(|| self.add(&batch.batch))
            .map_err(IntoPython::into_python)
    }

    fn close(&self, python: Python<'_>) -> PyResult<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let close = || file.map_or(Ok(()), parquet::RecordFile::close);
        python.detach(close).map_err(IntoPython::into_python)
    }
}
