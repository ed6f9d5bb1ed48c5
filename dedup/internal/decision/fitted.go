package decision

import "github.com/neardup/neardup/dedup/internal/evidence"

var byTexts = function{
	intercept: 2.55,
	texts: [evidence.FromTexts]float64{
		evidence.Characters: 0.9, evidence.Words: 2.07, evidence.ShortRuns: 0.05, evidence.ShortCharacters: 0.38,
		evidence.Beginning: -2.31, evidence.Anywhere: 2.65, evidence.Replaced: -2.27,
	},
}

var byAll = function{
	intercept: 4.32,
	texts: [evidence.FromTexts]float64{
		evidence.Characters: 0.9, evidence.Words: 0, evidence.ShortRuns: -1.83, evidence.ShortCharacters: 1.97,
		evidence.Beginning: -1.78, evidence.Anywhere: 2.47, evidence.FiguresInBoth: -1.7, evidence.FiguresInOne: -0.51, evidence.Replaced: -0.93,
	},
	places: [evidence.FromPlaces]float64{evidence.LocalRuns: 2.01, evidence.LocalCharacters: -0.44, evidence.Crowd: -0.47, evidence.Closer: 0.15},
}
