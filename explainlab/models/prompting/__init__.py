"""Language models that answer in words, as classifiers: their templates, their answers, their shared beginnings."""
