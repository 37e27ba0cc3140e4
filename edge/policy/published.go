package policy

// SlotsPublished is Slots with the draw as it was first published, to show what it
// does: with agents that answer a percentage only, no slot ever opens.
func SlotsPublished(node Node, app App) (Choice, error) {
	choice, err := Slots(node, app)
	choice.Published = true
	return choice, err
}
