//! placeholder of the skeleton commit
