package policy

// Slots draws a local slot first and balances the rest, the spill-over, over
// every ready endpoint. Without slot Services it is the same as Endpoints, so
// that an app works before its operator has made them.
func Slots(_ Node, app App) (Choice, error) {
	return Choice{Endpoints: ready(app), Slots: app.Slots}, nil
}
