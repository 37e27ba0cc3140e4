package runner

import "secondhop/internal/trial"

// Outcome is what came of a trial, with the arithmetic of what the runner asserts.
type Outcome struct{ *trial.Outcome }
