// The files of rensa that compute name two types of the crate pyo3 for their errors. This stands for
// the crate, so that they compile without Python. Nothing of it is in what is measured.

#[derive(Debug)]
pub struct PyErr(pub String);

pub type PyResult<T> = Result<T, PyErr>;

pub mod prelude {
    pub use crate::{PyErr, PyResult};
}

pub mod exceptions {
    pub struct PyValueError;

    impl PyValueError {
        pub fn new_err(message: impl Into<String>) -> crate::PyErr {
            crate::PyErr(message.into())
        }
    }
}
