package dedup

// This file has texts of which one knows what they are.

func formLetter(name, date, number string) string {
	return "Dear " + name + ",\n\nthank you for your application of " + date + ". We have received all documents and are examining them. " +
		"As soon as a decision has been taken we will inform you in writing. This usually takes four to six weeks. Please refrain from asking " +
		"about the state of the procedure in the meantime. In all further correspondence state the file number " + number + ".\n\nYours sincerely\nThe Citizens' Office"
}

const (
	complaint  = "On the third day the council of Leeds met in the old town hall to talk about the lorries that drive through Mill Street at night and keep people awake. Please write to "
	complained = " if you want to say something about it before the council votes on the new rules for all of the town and its villages."
)
