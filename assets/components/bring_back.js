// Sign-in leads to another site and comes back to the front page: meanwhile the address asked for waits in this tab.
const KEY = "explainlab.asked";

export default function ({ data, setTriggerValue }) {
  const here = location.pathname + location.search;
  if (!data.signed_in) {
    sessionStorage.setItem(KEY, here);
    return;
  }
  const asked = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  const comesFromSignIn = asked && !location.search && asked.startsWith(location.pathname);
  if (comesFromSignIn && asked !== here) location.replace(new URL(asked, location.origin));
  else setTriggerValue("settled", true);
}
