// What NDNts takes from newer versions of Node; to be imported before anything of @ndn.

Promise.withResolvers ??= function withResolvers() {
  const settle = {};
  settle.promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return settle;
};
