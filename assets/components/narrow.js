// Tells a page once that its window is as narrow as a phone's.
const NARROW = 640;

export default function ({ data, setTriggerValue }) {
  if (!data.known && window.innerWidth <= NARROW) setTriggerValue("narrow", true);
}
